/** The rules that keep many cores and several machines exact, and their corrections, as the design numbers them. */
export const laws = {
  'rule 1': 'err on the side of less',
  'rule 2': 'a thread can die at any instruction',
  'rule 3': 'places in memory are not reused blindly',
  'rule 4': 'holds that agents can live with',
  'rule 5': 'leases: never more than there is, in one order, for as long as the node lives',
  'rule 6': 'small balances, many nodes',
  'rule 7': 'a commit can be lost by a failover',
  'rule 8': 'news: order does not matter, gaps do',
  'rule 9': 'poolers that lend connections by the transaction',
  'rule 10': 'a slow commit',
  'correction 1': 'a lease that is asked for twice, or by two at once, is granted once',
  'correction 2': 'a settlement beyond its lease',
  'correction 3': 'whoever was settled for may still say what it was',
  'correction 4': 'a failover, and a commit on one disk alone',
  'correction 5': 'an outbox whose disk dies with its machine',
  'correction 6': 'a relay thread that dies',
  'correction 7': 'balances in memory: movements out of order, users that come back',
  'correction 8': 'the change feed',
  'correction 9': 'several cells change under one lock',
  'correction 10': 'money that lies elsewhere is not used up',
  'correction 11': 'commits of several nodes side by side',
  'correction 12': 'what is held of a prompt and of an answer',
  'correction 13': 'waiting for the commit',
  'correction 14': 'clocks',
  'correction 15': 'PgBouncer',
} as const;

export type Law = keyof typeof laws;

export const lawNames = Object.keys(laws) as readonly Law[];
