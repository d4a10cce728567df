-- Close the circuit and end the cooling, because a person says so.
redis.call('DEL', TROUBLE)
redis.call('SREM', TROUBLED, given.slug)
redis.call('PUBLISH', NEWS, 'well ' .. given.slug)
