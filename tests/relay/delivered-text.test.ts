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

test('sound counts as words, by its seconds, and a picture as one; sound that is named by an address does not', () => {
  const tally = new DeliveredTextTally();
  expect(tally.take(media('audio', 'base64'))).toBe(true);
  expect(tally.audioSeconds).toBe(1);
  expect(tally.take(media('image', 'base64'))).toBe(true);
  expect(tally.take(media('image', 'url'))).toBe(true);
  expect(tally.take(media('audio', 'url'))).toBe(false);
  expect([tally.audioSeconds, tally.units, tally.pictures]).toEqual([1, 0, 2]);
});
