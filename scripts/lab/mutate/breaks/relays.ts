/** What relay threads share in memory: balances, holds and the requests that are open, and what is held of whom. */
import { type Break, row } from './row.ts';

export const relays: readonly Break[] = [
  row(
    'a hold is looked for and taken under the user’s lock',
    'server/billing/balances/account.ts',
    'memory.lock(stripe);\n    try {\n      return this.take(',
    'try {\n      return this.take(',
  )
    .keeps('rule 1', 'correction 9')
    .notices('tests/relay/relay-threads.test.ts', 'exactness 9'),
  row(
    'windows of a group have their own lock',
    'server/relay/admission/limits.ts',
    'if (this.group !== 0) memory.lock(groupStripe(this.group));',
    '',
  )
    .keeps('rule 1', 'correction 9')
    .notices('tests/relay/relay-threads.test.ts', 'exactness 9'),
  row(
    'who is refused by the balance is in no window and has no place',
    'server/relay/admission/gate.ts',
    'this.withdraw(admission);\n    throw error;',
    'throw error;',
  )
    .keeps('rule 1')
    .notices('tests/relay/admission.test.ts', 'without money'),
  row(
    'who is refused after the gate is in no window and has no place',
    'server/relay/relay-request.ts',
    'if (this.isRead) core.gate.withdraw(admission);\n        else core',
    'if (!this.isRead) core',
  )
    .keeps('rule 1')
    .notices('tests/relay/gate.test.ts', 'refused for its model'),
  row(
    'what a budget does not have is not held',
    'server/billing/balances/account.ts',
    "if (lacking !== null) return { ok: false, who: 'budget', ...lacking };",
    '',
  )
    .keeps('rule 1')
    .notices('tests/relay/limits.test.ts', 'a refused budget'),
  row(
    'what a dead thread had begun to change is undone',
    'server/billing/balances/shared-memory.ts',
    'chunks[first >>> chunkBits]?.set(left.subarray(at + 1, at + 1 + count), first & offsets);',
    '',
  )
    .keeps('rule 2', 'correction 6')
    .notices('tests/relay/relay-threads.test.ts', 'at each of 20,000 stores'),
  row(
    'cells that are changed in place are noted first',
    'server/billing/balances/account.ts',
    'memory.note(this.user, userMoney);\n        if (!house',
    'if (!house',
  )
    .keeps('rule 2', 'correction 6')
    .notices('tests/relay/relay-threads.test.ts', 'exactness 9'),
  row(
    'locks of a dead thread are broken',
    'server/billing/balances/shared-memory.ts',
    'for (let stripe = 0; stripe < locksCount; stripe++) Atomics.compareExchange(locks, stripe, dead + 1, 0);',
    '',
  )
    .keeps('rule 2', 'correction 6')
    .notices('tests/relay/relay-threads.test.ts', 'its locks are free'),
  row(
    'what a dead thread had settled is settled as it was',
    'server/threads/relay/lost-thread.ts',
    'if (get(Row.state) === RowState.ended) {',
    'if (get(Row.state) === -1) {',
  )
    .keeps('rule 2', 'correction 6')
    .notices('tests/relay/relay-threads.test.ts', 'at each of 20,000 stores'),
  row(
    'a row is another request’s when the bill is durable',
    'server/relay/admission/reservation.ts',
    'this.giveBack(amount, input + output, usage === null);',
    'this.giveBack(amount, input + output, usage === null);\n    core.balances.money.open.over(this.open);',
  )
    .keeps('rule 2', 'rule 3', 'correction 6')
    .notices('tests/relay/commit-wait.test.ts', 'exactness 6'),
  row(
    'the place of a user who is gone stays theirs',
    'server/billing/balances/slots.ts',
    'if (slot !== undefined) memory.set(slot + UserSlot.gone, 1);',
    'if (slot !== undefined && memory.get(slot) !== -1) users.delete(id);',
  )
    .keeps('rule 3', 'correction 7')
    .notices('tests/relay/balances.test.ts', 'removed and comes back'),
  row(
    'movements that come out of their order count, each once',
    'server/billing/balances/slots.ts',
    'known.ahead.add(version);\n    while (known.ahead.delete(known.version + 1)) known.version++;',
    'known.version = version;',
  )
    .keeps('correction 7')
    .notices('tests/relay/balances.test.ts', 'out of the order'),
  row(
    'what is leased is changed by leases alone',
    'server/billing/balances/slots.ts',
    'if (!leased) add(slot + UserSlot.balance, event.delta);',
    'add(slot + UserSlot.balance, event.delta);',
  )
    .keeps('rule 5', 'correction 7')
    .notices('tests/relay/tenure.test.ts', 'exactness 7'),
  row(
    'and so is what is leased of a key',
    'server/billing/balances/slots.ts',
    'if (key !== undefined && !leased) add(key + KeySlot.used, event.token.used);',
    'if (key !== undefined) add(key + KeySlot.used, event.token.used);',
  )
    .keeps('rule 5', 'correction 7')
    .notices('tests/relay/tenure.test.ts', 'exactness 7'),
  row(
    'a prompt has no more tokens than bytes',
    'server/relay/intake/prompt.ts',
    'Math.max(0, bytes - bound.units)',
    'Math.max(0, bytes - bound.units) / 2',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/shortened.test.ts', 'no tokenizer'),
  row(
    'a request that is shortened gets half of what there is',
    'server/relay/admission/answer-limit.ts',
    'affordableOutput(estimate, available / 2)',
    'affordableOutput(estimate, available)',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/shortened.test.ts', 'M1'),
  row(
    'no answer is shorter than its thought',
    'server/relay/admission/answer-limit.ts',
    'const leastWithThought = 4096;',
    'const leastWithThought = 16;',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/shortened.test.ts', 'below the floor'),
  row(
    'what a channel passes on is refused instead of edited',
    'server/routing/offers.ts',
    'setting.pass_through !== true && limit === 0',
    'limit === 0',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/shortened.test.ts', 'passes on what it likes'),
  row(
    'all that open requests may cost is within the balance',
    'server/billing/balances/account.ts',
    'const spare = Math.floor(total * overcommit) - mostOfAll;',
    'const spare = Math.floor(total * overcommit) - held;',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/balances.test.ts', 'may cost together'),
  row(
    'what a model thinks in secret is held for at once',
    'server/relay/admission/reserve.ts',
    '    !answer.model.thinks &&\n',
    '',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/cover.test.ts', 'is held for whole'),
  row(
    'an upstream that goes on when nobody listens is held for at once',
    'server/relay/admission/reserve.ts',
    '    route.offers.stopOnCancel &&\n',
    '',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/cover.test.ts', 'is held for whole'),
  row(
    'who owes is not overcommitted',
    'server/relay/admission/reserve.ts',
    'overcommit === 1 || one.account.overrun() >= overrunLine',
    'overcommit === 1 || overrunLine < 0',
  )
    .keeps('rule 4', 'correction 12')
    .notices('tests/relay/cover.test.ts', 'who owes overrun'),
  row(
    'the last byte of a whole answer waits for its bill',
    'server/relay/delivery/await-commit.ts',
    'await durable;',
    '',
  )
    .keeps('rule 10', 'correction 13')
    .notices('tests/relay/commit-wait.test.ts', 'last byte'),
  row(
    'a stream that waits for its bill gives signs of life',
    'server/relay/delivery/stream.ts',
    'this.ping();\n      pings',
    'pings',
  )
    .keeps('rule 10', 'correction 13')
    .notices('tests/relay/commit-wait.test.ts', 'signs of life'),
];
