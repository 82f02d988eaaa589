-- For wrk: every request asks for a resource that nobody has asked for before. The argument tells this run from others.
local threads = 0
local prefix = ''
local count = 0

function setup(thread)
  thread:set('id', threads)
  threads = threads + 1
end

function init(args)
  prefix = args[1] .. '-' .. id .. '-'
end

function request()
  count = count + 1
  local body = '{"type":"pull","resource_id":"' .. prefix .. count .. '","node_id":"node-a"}'
  return wrk.format('POST', '/lock', { ['content-type'] = 'application/json' }, body)
end

function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '{"perSecond":%f,"p50Ms":%f,"p99Ms":%f,"failed":%d}\n',
    summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, failed))
end
