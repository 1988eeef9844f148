/* Switches: tables of branches, chains, fall-through. */
__global__ void interpret(const unsigned char *code, int *stack, int n)
{
    int pc = 0, sp = 0, x = 0, steps = 0;
    while (pc < n && steps++ < 1000) {
        switch (code[pc++]) {
        case 0: return;
        case 1: stack[sp++] = code[pc++]; break;
        case 2: x = stack[--sp]; stack[sp - 1] += x; break;
        case 3: x = stack[--sp]; stack[sp - 1] -= x; break;
        case 4: x = stack[--sp]; stack[sp - 1] *= x; break;
        case 5: x = stack[--sp]; /* fall through */
        case 6: stack[sp] = x; sp++; break;
        case 7: if (stack[--sp]) pc = code[pc]; else pc++; break;
        case 8: pc = code[pc]; break;
        case 9: stack[sp] = __popc(stack[sp - 1]); sp++; break;
        case 10: stack[sp - 1] = -stack[sp - 1]; break;
        case 11: stack[sp - 1] = ~stack[sp - 1]; break;
        case 40: x ^= 0x5a5a; break;
        default: goto out;
        }
    }
out:
    stack[100] = sp;
}
