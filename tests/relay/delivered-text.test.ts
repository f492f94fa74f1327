/** What of an answer was delivered: it decides whether reported usage covers all of it. */
import { expect, test } from 'vitest';
import type { ChatEvent } from '../../server/protocols/canonical.ts';
import { DeliveredTextTally } from '../../server/relay/shared/delivered-text.ts';

const media = (type: 'audio' | 'image', kind: 'base64' | 'url'): ChatEvent =>
  ({
    type: 'media',
    part: {
      type,
      format: 'pcm16',
      source:
        kind === 'base64'
          ? { kind, data: Buffer.alloc(48_000).toString('base64') }
          : { kind, url: 'https://media.example/a' },
    },
  }) as ChatEvent;

test('interim counts do not count twice where a defect is met on the way', () => {
  const tally = new DeliveredTextTally();
  tally.take({ type: 'text-delta', index: 0, text: 'sent' });
  const held: ChatEvent = { type: 'text-delta', index: 0, text: 'held' };
  const calls: ChatEvent = {
    type: 'unknown',
    dialect: 'openai-responses',
    raw: { type: 'web_search_call', action: { type: 'search' } },
  };
  const defective = Object.defineProperty({ type: 'text-delta' }, 'text', {
    get: () => {
      throw new TypeError('planted');
    },
  }) as ChatEvent;
  for (let at = 0; at < 2; at++)
    expect(() =>
      tally.with([held, calls, media('audio', 'base64'), media('image', 'base64'), defective], true),
    ).toThrow('planted');
  const { texts, units, audioSeconds, pictures } = tally;
  expect([texts, units, audioSeconds, pictures, tally.calls]).toEqual([['sent'], 4, 0, 0, undefined]);
  expect(tally.with([held], true)).toMatchObject({ texts: ['sent', 'held'], units: 8 });
});

test('sound counts as words, by its seconds, and a picture as one; sound that is named by an address does not', () => {
  const tally = new DeliveredTextTally();
  expect(tally.take(media('audio', 'base64'))).toBe(true);
  expect(tally.audioSeconds).toBe(1);
  expect(tally.take(media('image', 'base64'))).toBe(true);
  expect(tally.take(media('image', 'url'))).toBe(true);
  expect(tally.take(media('audio', 'url'))).toBe(false);
  expect([tally.audioSeconds, tally.units, tally.pictures]).toEqual([1, 0, 2]);
});
