/** What is proven to lie in a provider's cache is never more than lies there, and a caller's names and lies add nothing. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Opening, type Origin, PrefixEvidence } from '../../server/relay/admission/prefix-evidence.ts';

const origin: Origin = { userId: 1, channelId: 2, keyHash: 'k', conversation: 'c' };
const head = ['claude-opus-4-5', 'You are an agent.', '[{"name":"read"}]', '', '', ''];
const minute = 60_000;

const part = (text: string, most = text.length) => ({ text, most });
const opening = (...texts: readonly string[]): Opening => ({
  head,
  parts: texts.map((text) => part(text)),
  marks: null,
});
const marked = (marks: readonly number[], ...texts: readonly string[]): Opening => ({ ...opening(...texts), marks });

function begin() {
  const clock = { ms: 1_000_000 };
  const evidence = new PrefixEvidence(() => clock.ms, 3);
  const answered = (turn: Opening, tokens: number, of: Partial<Origin> = {}, lifeMs = 5 * minute) =>
    evidence.answered({ ...origin, ...of }, turn, { tokens, all: tokens, sentMs: clock.ms, lifeMs });
  const read = (turn: Opening, of: Partial<Origin> = {}) => evidence.proven({ ...origin, ...of }, turn)?.read ?? 0;
  return { clock, evidence, answered, read };
}

test('the next turn of a conversation is held for by what the last one’s usage reported as cached', () => {
  const { answered, read } = begin();
  expect(read(opening('a'))).toBe(0);
  answered(opening('a'), 900);
  expect(read(opening('a', 'b', 'c'))).toBe(900);
  answered(opening('a', 'b', 'c'), 950);
  expect(read(opening('a', 'b', 'c', 'd'))).toBe(950);
  // The same turn again.
  expect(read(opening('a', 'b', 'c'))).toBe(950);
});

test.each<readonly [string, Partial<Origin>]>([
  ['another user', { userId: 9 }],
  ['another channel', { channelId: 9 }],
  ['another key of the channel', { keyHash: 'l' }],
  ['a name that spells another user', { userId: 1, conversation: '2:k:c' }],
])('%s has read nothing', (_name, other) => {
  const { answered, read } = begin();
  answered(opening('a'), 900);
  expect(read(opening('a', 'b'), other)).toBe(0);
});

test.each(head.map((_text, index) => index))('another beginning before the messages (%d) has read nothing', (index) => {
  const { answered, read } = begin();
  answered(opening('a'), 900);
  const changed = head.map((text, at) => (at === index ? `${text} ` : text));
  expect(read({ ...opening('a', 'b'), head: changed })).toBe(0);
});

test('a first byte that differs, a part that moved into the next and a text that moved to the head have read nothing', () => {
  const { answered, read } = begin();
  answered(marked([2], 'abc', 'd'), 900);
  expect(read(marked([2], 'abc', 'd'))).toBe(900);
  for (const turn of [
    ['Abc', 'd'],
    ['ab', 'cd'],
    ['abcd', ''],
    ['abc ', 'd'],
    ['abc', 'd '],
    ['d', 'abc'],
  ])
    expect(read(marked([2], ...turn))).toBe(0);
  expect(read({ head: [...head, 'abc'], parts: [part('d')], marks: [1] })).toBe(0);
  expect(read({ head: head.slice(0, -1), parts: [part(''), part('abc'), part('d')], marks: [3] })).toBe(0);
});

test('a provider that is asked for a cache keeps nothing between the marks, and what is behind the last one is not in it', () => {
  const { answered, read } = begin();
  answered(marked([0, 2], 'aaaa', 'bbbb', 'cccc'), 100);
  expect(read(marked([3], 'aaaa', 'bbbb', 'else'))).toBe(100);
  // The head alone.
  expect(read(marked([2], 'aaaa', 'else'))).toBe(92);
  const { answered: again, read: readAgain } = begin();
  again(marked([2], 'aaaa', 'bbbb'), 100);
  expect(readAgain(marked([2], 'aaaa', 'else'))).toBe(0);
});

test('a request that asks for no cache, or marks it too early or too far behind, has read nothing', () => {
  const { answered, read } = begin();
  const more = (count: number) => Array.from({ length: count }, (_, n) => `more ${n}`);
  answered(marked([2], 'a', 'b'), 100);
  expect(read(marked([], 'a', 'b'))).toBe(0);
  expect(read(marked([1], 'a', 'b', 'c'))).toBe(0);
  expect(read(marked([21], 'a', 'b', ...more(19)))).toBe(100);
  expect(read(marked([22], 'a', 'b', ...more(20)))).toBe(0);
  expect(read(marked([2, 40], 'a', 'b', ...more(38)))).toBe(100);
});

test('a turn that asked for no cache is known for none, whatever was reported of it', () => {
  const { evidence, answered } = begin();
  answered(marked([], 'a', 'b'), 100);
  answered(marked([9], 'a', 'b'), 100);
  expect(evidence.conversations).toBe(0);
});

test('rewritten last messages count as not read, at the most tokens they can have', () => {
  const { answered, read } = begin();
  answered(opening('system', 'question', 'x'.repeat(100)), 900);
  expect(read(opening('system', 'question', 'other', 'y'))).toBe(800);
  expect(read(opening('system', 'else', 'other', 'y'))).toBe(792);
  expect(read(opening('nothing'))).toBe(786);
  // What cannot be bounded leaves nothing.
  const { answered: again, read: readAgain } = begin();
  again({ head, parts: [part('a'), part('b', Number.POSITIVE_INFINITY)], marks: null }, 900);
  expect(readAgain(opening('a', 'c'))).toBe(0);
  expect(readAgain(opening('a', 'b', 'c'))).toBe(900);
});

test('a shorter prompt than the turn has read what of it is the same, and no more', () => {
  const { answered, read } = begin();
  answered(opening('aaaa', 'bbbb', 'cccc'), 10);
  expect(read(opening('aaaa', 'bbbb'))).toBe(6);
  expect(read(opening('aaaa'))).toBe(2);
  expect(read(opening())).toBe(0);
});

test('after the life of the cache, and shortly before its end, nothing is proven', () => {
  const { clock, answered, read } = begin();
  answered(opening('a'), 900);
  clock.ms += 5 * minute - 5001;
  expect(read(opening('a', 'b'))).toBe(900);
  clock.ms += 1;
  expect(read(opening('a', 'b'))).toBe(0);
});

test('a turn that was sent long ago proves nothing when its answer ends', () => {
  const { clock, evidence, read } = begin();
  evidence.answered(origin, opening('a'), { tokens: 900, all: 900, sentMs: clock.ms - 6 * minute, lifeMs: 5 * minute });
  expect(read(opening('a'))).toBe(0);
  expect(evidence.conversations).toBe(0);
});

test.each([0, 300])('a later turn that was reported with %d read refutes what was known', (tokens) => {
  const { answered, read } = begin();
  answered(opening('a', 'b'), 900);
  answered(opening('a', 'x', 'y'), tokens);
  expect(read(opening('a', 'b'))).toBeLessThanOrEqual(tokens);
  expect(read(opening('a', 'x', 'y'))).toBe(tokens);
});

test('branches of one conversation are known side by side, the eight last ones', () => {
  const { answered, read } = begin();
  const branch = (n: number) => ({ head: [`agent ${n}`], parts: [part('a')], marks: null });
  for (let n = 0; n < 9; n++) answered(branch(n), 100 + n);
  expect(Array.from({ length: 9 }, (_, n) => read(branch(n)))).toEqual([0, 101, 102, 103, 104, 105, 106, 107, 108]);
});

test('a conversation that goes on takes no room from its branches; a turn with a shorter cache does not forget the longer one', () => {
  const { answered, read } = begin();
  answered({ ...opening('branch'), head: ['agent'] }, 77);
  const said: string[] = [];
  for (let n = 0; n < 12; n++) {
    said.push(`turn ${n}`);
    answered(opening(...said), 100 + n);
  }
  expect(read({ ...opening('branch'), head: ['agent'] })).toBe(77);
  answered(marked([3], 'a', 'b', 'c'), 300);
  answered(marked([1], 'a', 'b', 'c'), 100);
  expect(read(marked([3], 'a', 'b', 'c'))).toBe(300);
});

test('expired evidence takes no room', () => {
  const { clock, evidence, answered } = begin();
  answered(opening('a'), 900);
  clock.ms += 6 * minute;
  answered({ ...opening('other'), head: ['another'] }, 0);
  expect(evidence.conversations).toBe(0);
});

test('the conversation that was used longest ago makes room', () => {
  const { evidence, answered, read } = begin();
  for (const conversation of ['one', 'two', 'three']) answered(opening('a'), 900, { conversation });
  answered(opening('a', 'b'), 910, { conversation: 'one' });
  answered(opening('a'), 900, { conversation: 'four' });
  expect(evidence.conversations).toBe(3);
  const known = ['one', 'two', 'three', 'four'].map((conversation) => read(opening('a', 'b'), { conversation }));
  expect(known).toEqual([910, 0, 900, 900]);
});

/** A provider with a cache of its own, by the published rules: what is not used for five minutes is gone. */
class Provider {
  private readonly prefixes = new Map<string, { readonly tokens: number; readonly untilMs: number }>();

  /** @returns tokens it reads. */
  cached({ head: before, parts, marks }: Opening, nowMs: number): number {
    let most = 0;
    for (let count = 0; count <= parts.length; count++) {
      const found = this.prefixes.get(JSON.stringify([before, parts.slice(0, count)]));
      const isLookedFor = marks === null || marks.some((mark) => mark - 20 < count && count <= mark);
      if (isLookedFor && found !== undefined && found.untilMs > nowMs) most = Math.max(most, found.tokens);
    }
    return most;
  }

  /** @returns tokens read and written. */
  serve(sent: Opening, nowMs: number): number {
    const { head: before, parts, marks } = sent;
    const read = this.cached(sent, nowMs);
    let tokens = tokensOf(before.join(''));
    let written = 0;
    for (let count = 0; count <= parts.length; count++) {
      if (count > 0) tokens += tokensOf(parts[count - 1]?.text ?? '');
      if (marks !== null && !marks.includes(count)) continue;
      this.prefixes.set(JSON.stringify([before, parts.slice(0, count)]), { tokens, untilMs: nowMs + 5 * minute });
      written = tokens;
    }
    return Math.max(read, written);
  }
}
const tokensOf = (text: string): number => Math.ceil(text.length * 0.7);

const texts = fc.constantFrom('a', 'bb', 'dddddddd', 'eeeeeeeeeeeeeeeeeeee');
const turn = fc.record({
  user: fc.integer({ min: 1, max: 2 }),
  conversation: fc.constantFrom('x', 'y'),
  head: fc.constantFrom('h', 'a long head that costs something'),
  /** Goes on from the last turn, with fewer parts or more. */
  keeps: fc.nat(12),
  more: fc.array(texts, { maxLength: 3 }),
  many: fc.boolean(),
  marks: fc.option(fc.array(fc.nat(40), { maxLength: 4 }), { freq: 2 }),
  marksEnd: fc.boolean(),
  pauseMs: fc.constantFrom(0, 0, 0, 1000, 2 * minute, 6 * minute),
});

test('whatever the order of turns, names, marks, branches and pauses, no more is proven than the provider has', () => {
  let proven = 0;
  fc.assert(
    fc.property(fc.array(turn, { minLength: 2, maxLength: 30 }), (turns) => {
      const { clock, answered, read } = begin();
      // A cache belongs to the channel's key, whoever asks.
      const provider = new Provider();
      let last: readonly string[] = [];
      for (const one of turns) {
        clock.ms += one.pauseMs;
        const of = { userId: one.user, conversation: one.conversation };
        last = [...last.slice(0, one.keeps), ...one.more, ...(one.many ? Array<string>(20).fill('m') : [])];
        const within = (one.marks ?? []).filter((mark) => mark <= last.length);
        const asked = [...new Set([...within, ...(one.marksEnd ? [last.length] : [])])].sort((a, b) => a - b);
        const marks = one.marks === null ? null : asked;
        const sent: Opening = { head: [one.head], parts: last.map((text) => part(text)), marks };
        const tokens = read(sent, of);
        expect(tokens).toBeLessThanOrEqual(provider.cached(sent, clock.ms));
        if (tokens > 0) proven++;
        answered(sent, provider.serve(sent, clock.ms), of);
        expect(read(sent, of)).toBeLessThanOrEqual(provider.cached(sent, clock.ms));
      }
    }),
    { numRuns: 200, seed: 20261129 },
  );
  expect(proven).toBeGreaterThan(100);
});
