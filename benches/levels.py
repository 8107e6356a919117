"""Processor time of a tile of `itp serve`, level by level: python levels.py ITP SCRIPT LAYER [LEVEL …]

A tile is 128 × 128, as the page asks for it; the first of a level is compiled, sixteen others are averaged. A window of
1280 × 800 shows up to 88 of them. A busy machine moves these times by a third.
"""

import os
import subprocess
import sys
import time
import urllib.request

PORT = 8171


def processor_time(process):
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tile(layer, level, column, row):
    url = f"http://127.0.0.1:{PORT}/tiles/{layer}/{level}/{column}/{row}.npy?dims=c,y,x&size=128"
    return urllib.request.urlopen(url, timeout=120).read()


def main(itp, script, layer, levels):
    with subprocess.Popen([itp, "serve", script, "--port", str(PORT)], stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(2)
            tile(layer, 0, 50, 50)
            for level in levels:
                start = processor_time(process)
                tile(layer, level, 7, 3)
                first = processor_time(process)
                for column in range(16):
                    tile(layer, level, column, -2)
                each = (processor_time(process) - first) / 16
                print(f"level {level}: first {first - start:.2f} s, then {each:.3f} s; 80 tiles on two cores {40 * each:.2f} s")
        finally:
            process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:4], [int(level) for level in sys.argv[4:]] or [0, -1, -2, -4, -20])
