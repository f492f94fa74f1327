/** An answer that ended well and says nothing is tried elsewhere, unless its upstream wants money for it. */
import { expect, test } from 'vitest';
import type { ChatEvent } from '../../server/protocols/canonical.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { isEmpty } from '../../server/relay/upstream/whole.ts';

const finish = { type: 'finish', reason: { unified: 'stop', raw: 'stop' } } as ChatEvent;
const word = { type: 'text-delta', index: 0, text: 'hi' } as ChatEvent;
const used = (output: number) => ({ ...emptyUsage, input: 10, output });

test.each([
  ['no end and no tokens', [], used(0), true],
  ['no end and one token', [], used(1), false],
  ['an end without usage', [finish], null, true],
  ['an end with usage', [finish], used(0), false],
  ['a word', [word, finish], null, false],
] as const)('%s: %s', (_name, events, usage, expected) => {
  expect(isEmpty(events, usage)).toBe(expected);
});
