-- Why a circuit is not closed may quote what was erased: then its kind is all that is said of it any more.
local given = cjson.decode(ARGV[1])
local trouble = KEYS[1] .. ':trouble'
local kind = given.kinds[redis.call('HGET', trouble, 'reason') or '']
if kind then
  redis.call('HSET', trouble, 'reason', kind)
end
