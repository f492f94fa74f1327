/** Other models that write down what was said in a conversation are paid by bills of their own. */
import { expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import type { Reservation } from '../../server/relay/admission/reservation.ts';
import { createTranscripts } from '../../server/relay/endpoints/realtime/transcript.ts';
import { recordedTokens } from '../../server/relay/endpoints/realtime/usage.ts';

interface Call {
  readonly what: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
}

function scripted(carries: (model: string) => boolean = () => true) {
  const calls: Call[] = [];
  const admitted: string[] = [];
  const admit = (model: string): Reservation => {
    admitted.push(model);
    if (model === 'unpriced') throw new AppError('model_price_unset');
    const note = (what: string, usage: typeof emptyUsage | null) =>
      void calls.push({ what, model, input: usage?.input ?? 0, output: usage?.output ?? 0 });
    return {
      parsed: { model },
      plan: { prices: {} },
      checkpoint: (usage: typeof emptyUsage) => note('checkpoint', usage),
      extendTo: (usage: typeof emptyUsage) => {
        note('extend', usage);
        return carries(model);
      },
      finish: async (finish: { usage: typeof emptyUsage; endReason: string }) => note(finish.endReason, finish.usage),
    } as unknown as Reservation;
  };
  return {
    calls,
    admitted,
    transcripts: createTranscripts(admit, { id: 1, setting: {} } as ChannelSnapshot, () => false),
  };
}
const counted = (input: number, output: number) => ({ usage: { ...emptyUsage, input, output }, seconds: 0 });
const received = (seconds: number) => ({ usage: emptyUsage, seconds });

test('tokens and seconds of one model add up on one bill, which grows before it is paid', async () => {
  const { calls, admitted, transcripts } = scripted();
  expect(transcripts.take('whisper-1', received(30))).toBeNull();
  expect(transcripts.take('whisper-1', received(45))).toBeNull();
  expect(transcripts.take('gpt-4o-transcribe', counted(10, 5))).toBeNull();
  expect(transcripts.take('gpt-4o-transcribe', counted(1, 2))).toBeNull();
  expect(admitted).toEqual(['whisper-1', 'gpt-4o-transcribe']);
  await transcripts.finish('completed');
  const bill = (what: string, model: string, input: number, output = 0): Call => ({ what, model, input, output });
  expect(calls).toEqual([
    bill('checkpoint', 'whisper-1', recordedTokens(30)),
    bill('extend', 'whisper-1', recordedTokens(30)),
    bill('checkpoint', 'whisper-1', recordedTokens(75)),
    bill('extend', 'whisper-1', recordedTokens(75)),
    bill('checkpoint', 'gpt-4o-transcribe', 10, 5),
    bill('extend', 'gpt-4o-transcribe', 10, 5),
    bill('checkpoint', 'gpt-4o-transcribe', 11, 7),
    bill('extend', 'gpt-4o-transcribe', 11, 7),
    bill('completed', 'whisper-1', recordedTokens(75)),
    bill('completed', 'gpt-4o-transcribe', 11, 7),
  ]);
});

test('a transcript without a bill of its own belongs to the conversation’s; it is asked for once', async () => {
  const { calls, admitted, transcripts } = scripted();
  expect(transcripts.take(null, counted(3, 4))).toMatchObject({ input: 3, output: 4 });
  expect(transcripts.take('unpriced', received(60))).toMatchObject({ input: recordedTokens(60) });
  expect(transcripts.take('unpriced', received(6))).toMatchObject({ input: recordedTokens(6) });
  expect(admitted).toEqual(['unpriced']);
  await transcripts.finish('client_gone');
  expect(calls).toEqual([]);
});

test('a balance that does not suffice gets an error that says so', () => {
  expect(scripted(() => false).transcripts.take('whisper-1', received(60))).toBe(false);
});
