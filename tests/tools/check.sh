# What the tests of the program share; sourced. The script counts with `check` and ends with `finish`.
passed=0 failed=0

# check NAME STATUS PATTERN COMMAND…: the command ends with the status, and what it prints matches.
check() {
    local name=$1 status=$2 pattern=$3 output got
    shift 3
    output=$("$@" 2>&1)
    got=$?
    if ((got == status)) && grep -qE -- "$pattern" <<<"$output"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s: status %s (wanted %s), wanted /%s/ in:\n%s\n' "$name" "$got" "$status" \
            "$pattern" "$output"
    fi
}

finish() {
    echo "$passed passed, $failed failed"
    exit $((failed > 0))
}
