"""The logits of examples/transformer beside PyTorch's: the file that the example wrote -> the greatest difference over
the greatest logit, of bf16 on the GPU and of f64 on the CPU.  Exit status 77: there is no PyTorch, or it sees no GPU.
"""

import struct
import sys

try:
    import torch
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

functional = torch.nn.functional
blob = open(sys.argv[1], "rb").read()
TOKENS, WORDS, DIM, HEADS, KV_HEADS, HEAD, HIDDEN, LAYERS = struct.unpack_from("8i", blob)
place = 32


def read(*shape):
    """The next floats of the file, f32."""
    global place
    count = 1
    for extent in shape:
        count *= extent
    values = torch.tensor(struct.unpack_from("%df" % count, blob, place)).reshape(shape)
    place += 4 * count
    return values


def rotated(x, dtype):
    """x: tokens x heads x HEAD; the first half of a head turns with the second."""
    position = torch.arange(TOKENS, dtype=torch.float64, device=x.device)[:, None]
    step = torch.arange(HEAD // 2, dtype=torch.float64, device=x.device)
    angle = (position * 10000 ** (-2 * step / HEAD))[:, None, :]
    cosine, sine = angle.cos().to(x.device), angle.sin().to(x.device)
    left, right = x.double().chunk(2, dim=2)
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), dim=2).to(dtype)


def attention(q, k, v):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    k, v = (x.repeat_interleave(HEADS // KV_HEADS, dim=1) for x in (k, v))
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0].transpose(0, 1).reshape(TOKENS, -1)


def forward(tokens, model, dtype):
    """Products of `dtype`; what is added up over the layers is in f32 at least."""
    words, last, layers = model
    wide = torch.float64 if dtype == torch.float64 else torch.float32

    def norm(x, weight):
        return functional.rms_norm(x, (DIM,), weight.to(wide), 1e-5).to(dtype)

    x = words[tokens].to(wide)
    for norm_1, to_q, to_k, to_v, from_heads, norm_2, gate, up, down in layers:
        h = norm(x, norm_1)
        q = rotated((h @ to_q.T).reshape(TOKENS, HEADS, HEAD), dtype)
        k = rotated((h @ to_k.T).reshape(TOKENS, KV_HEADS, HEAD), dtype)
        v = (h @ to_v.T).reshape(TOKENS, KV_HEADS, HEAD)
        x = x + (attention(q, k, v) @ from_heads.T).to(wide)
        h = norm(x, norm_2)
        x = x + ((functional.silu(h @ gate.T) * (h @ up.T)) @ down.T).to(wide)
    return (norm(x, last) @ words.T).double().cpu()


def model_of(device, dtype):
    def there(x):
        return x.to(device).to(dtype)

    return there(words), there(last), [[there(w) for w in layer] for layer in layers]


words, last = read(WORDS, DIM), read(DIM)
layers = [
    [
        read(DIM), read(HEADS * HEAD, DIM), read(KV_HEADS * HEAD, DIM), read(KV_HEADS * HEAD, DIM),
        read(DIM, HEADS * HEAD), read(DIM), read(HIDDEN, DIM), read(HIDDEN, DIM), read(DIM, HIDDEN),
    ]
    for _ in range(LAYERS)
]
worst = {"bf16": 0.0, "f64": 0.0}
most = 0.0
for _ in range(2):
    tokens = torch.tensor(struct.unpack_from("%dI" % TOKENS, blob, place))
    place += 4 * TOKENS
    logits = read(TOKENS, WORDS).double()
    with torch.no_grad():
        exact = forward(tokens, model_of("cpu", torch.float64), torch.float64)
        theirs = forward(tokens.cuda(), model_of("cuda", torch.bfloat16), torch.bfloat16)
    most = max(most, exact.abs().max().item())
    worst["f64"] = max(worst["f64"], (logits - exact).abs().max().item())
    worst["bf16"] = max(worst["bf16"], (logits - theirs).abs().max().item())
bf16, f64 = worst["bf16"] / most, worst["f64"] / most
print("%s: bf16 %.3g, f64 %.3g" % (torch.__version__, bf16, f64))
sys.exit(0 if place == len(blob) and f64 <= 1e-2 and bf16 <= 2e-2 else 1)
