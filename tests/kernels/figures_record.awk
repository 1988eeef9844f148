# Makes tests/oracle/kernel_speed.txt of what bench/kernels printed on a GPU.
#   figures_record.awk OUTPUT...
# Each OUTPUT is of one process, with or without its standard error: lines on limits are dropped, also where they stand
# in the middle of another line.  Of several processes each metric is the median.
FNR == 1 && NR > 1 { take() }
{ text = text $0 "\n" }
END {
    if (NR) take()
    if (!metrics) { print "no output of bench/kernels" >"/dev/stderr"; exit 1 }
    print "# What bench/kernels printed on a GPU, the median where it ran several times: make kernels-doc BENCH='files'."
    print "runs " runs
    print version
    print device
    for (i = 1; i <= metrics; i++) printf "%s %.4g %s\n", name[i], median(name[i]), unit[name[i]]
}

function take(    n, i, line, word)
{
    gsub(/kernels: kernels\.[^ \n]+ is [^ \n]+, the limit is at (least|most) [^ \n]+\n/, "", text)
    n = split(text, line, "\n")
    text = ""
    runs++
    for (i = 1; i <= n; i++) {
        if (line[i] ~ /^torch\.version /) version = line[i]
        if (line[i] ~ /^device /) device = line[i]
        if (split(line[i], word, " ") != 3 || word[1] !~ /^kernels\./) continue
        if (!(word[1] in unit)) name[++metrics] = word[1]
        unit[word[1]] = word[3]
        value[word[1], ++count[word[1]]] = word[2] + 0
    }
}

function median(metric,    n, i, j, v)
{
    n = count[metric]
    for (i = 1; i <= n; i++) {
        for (j = i; j > 1 && v[j - 1] > value[metric, i]; j--) v[j] = v[j - 1]
        v[j] = value[metric, i]
    }
    return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
