/** What of an answer was delivered: it decides whether reported usage covers all of it. */
import { expect, test } from 'vitest';
import type { ChatEvent } from '../../server/protocols/canonical.ts';
import { DeliveredTextTally } from '../../server/relay/shared/delivered-text.ts';

const media = (type: 'audio' | 'image', kind: 'base64' | 'url'): ChatEvent =>
  ({
    type: 'media',
    part: {
      type,
      source:
        kind === 'base64'
          ? { kind, data: Buffer.alloc(48_000).toString('base64') }
          : { kind, url: 'https://media.example/a' },
    },
  }) as ChatEvent;

test('sound counts as words, by its seconds; a picture and what is named by an address do not', () => {
  const tally = new DeliveredTextTally();
  expect(tally.take(media('audio', 'base64'))).toBe(true);
  expect(tally.audioSeconds).toBe(1);
  expect(tally.take(media('image', 'base64'))).toBe(false);
  expect(tally.take(media('audio', 'url'))).toBe(false);
  expect([tally.audioSeconds, tally.units]).toEqual([1, 0]);
});
