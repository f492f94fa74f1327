/** Models that an event of a conversation names, wherever it may name one. */
import { expect, test } from 'vitest';
import { modelsIn } from '../../server/relay/endpoints/realtime/client-event.ts';

test.each([
  [{ model: 'a' }, ['a'], []],
  [{ session: { model: 'a' }, response: { model: 'b' } }, ['a', 'b'], []],
  [{ input_audio_transcription: { model: 'w' } }, [], ['w']],
  [{ session: { input_audio_transcription: { model: 'w' } } }, [], ['w']],
  [{ transcription: { model: 'w' } }, [], ['w']],
  [{ session: { transcription: { model: 'w' } } }, [], ['w']],
  [{ session: { audio: { input: { transcription: { model: 'w' } } } } }, [], ['w']],
  [{ session: { audio: { output: { transcription: { model: 'w' } } } } }, [], []],
])('%j', (event, speaking, writing) => expect(modelsIn(event)).toEqual({ speaking, writing }));
