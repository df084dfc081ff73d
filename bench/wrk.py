"""The Lua script that makes wrk ask what a workload asks, check each answer and report in JSON.

The script does as little as it can per request: a random number, one or two formats and one
concatenation; and for each item that it writes a random number and a piece of noise. Its latencies are wrk's own,
which are corrected for coordinated omission.
"""

import json

from bench.workloads import (
    DATA_SLOT,
    ITEMS_PER_PARTITION_KEY,
    NOISE,
    PARTITION_KEY,
    PARTITION_SLOT,
    SORT_KEY,
    SORT_SLOT,
    Workload,
    data_for,
)

MARK = "bench: "

SLOTS = {
    PARTITION_SLOT: f'format("{PARTITION_KEY}", floor(number / {ITEMS_PER_PARTITION_KEY}))',
    SORT_SLOT: f'format("{SORT_KEY}", number % {ITEMS_PER_PARTITION_KEY})',
    DATA_SLOT: "data()",
}

SCRIPT = """
local random, format, sub, floor = math.random, string.format, string.sub, math.floor
local data_bytes = %(data_bytes)d
local noise = %(noise)s
local threads = {}
failures = 0
reason = ""

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  math.randomseed(%(seed)d)
end

local function data()
  local start = random(%(noise_bytes)d)
  return sub(noise, start, start + data_bytes - 1)
end

function request()
  local number = random(0, %(items)d - 1)
  return %(request)s
end

function response(status, headers, body)
  if status ~= 200 or #body < %(answer_bytes_min)d then
    failures = failures + 1
    if reason == "" then
      reason = status .. " " .. sub(body, 1, 200)
    end
  end
end

function done(summary, latency, requests)
  local failed, why = 0, ""
  for _, thread in ipairs(threads) do
    failed = failed + thread:get("failures")
    why = thread:get("reason")
  end
  why = why:gsub("[^%%w%%s.:#{}_-]", " "):gsub("%%s+", " ")
  local errors = summary.errors
  io.write(format('%(mark)s{"answers":%%d,"failures":%%d,"reason":"%%s","duration_us":%%d,'
    .. '"p50_us":%%d,"p99_us":%%d,"max_us":%%d,'
    .. '"connect":%%d,"read":%%d,"write":%%d,"timeout":%%d}\\n',
    summary.requests, failed, why, summary.duration,
    latency:percentile(50), latency:percentile(99), latency.max,
    errors.connect, errors.read, errors.write, errors.timeout))
end
"""


def script(workload: Workload, seed: int) -> str:
    data_bytes = workload.dataset.data_bytes
    return SCRIPT % {
        "data_bytes": data_bytes,
        "noise": quoted(NOISE + data_for(0, data_bytes)),
        "seed": seed,
        "items": workload.dataset.items,
        "noise_bytes": len(NOISE),
        "request": " .. ".join(SLOTS.get(piece) or quoted(piece) for piece in workload.pieces),
        "answer_bytes_min": workload.answer_bytes_min,
        "mark": MARK,
    }


def quoted(text: str) -> str:
    """`text` as a Lua string: for ASCII its escapes are those of JSON."""
    return json.dumps(text)
