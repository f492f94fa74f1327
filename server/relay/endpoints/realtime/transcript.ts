/** Other models write down what was said; they have prices, and rows, of their own. */
import { AppError } from '../../../contract/errors.ts';
import type { ChannelSnapshot } from '../../../contract/snapshot.ts';
import type { Usage } from '../../../protocols/canonical.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { Finish } from '../../admission/observer.ts';
import type { Reservation } from '../../admission/reservation.ts';
import { closeUnfinished, finishRequest } from '../../delivery/settle.ts';
import { audioInputTokens } from '../../shared/audio.ts';
import { isOurs } from '../../shared/defect.ts';
import type { Turns } from './turns.ts';
import { recordedTokens, sum, type Transcribed } from './usage.ts';

export interface Transcripts {
  /** Reserves for the transcription of committed audio, and of what may follow. @returns false where the balance does not suffice. */
  expect(model: string, received: ReturnType<Turns['committedAudio']>): boolean;
  /** After a refusal of `expect`: leases what was missing, where other machines may have some. */
  ensureLease(): Promise<unknown>;
  /** Usage that is still to be added to the conversation's own bill. */
  otherUsage(): Usage;
  /** @returns null = charged there, false = charged, but the balance does not suffice; else what belongs to the conversation's own bill. */
  take(model: string | null, transcribed: Transcribed): Usage | null | false;
  /** @param endReason of the conversation. */
  finish(endReason: Finish['endReason']): Promise<void>;
}

interface Bill {
  readonly reservation: Reservation;
  usage: Usage;
  seconds: number;
  /** Seconds of audio before this model was called. */
  readonly from: number;
}

/** Recordings are billed by the whole second. */
const roundUp = 2;
/** By the minute, or by tokens of sound and words. */
const maxUsage = (seconds: number): readonly Usage[] => [
  { ...emptyUsage, input: recordedTokens(seconds) },
  {
    ...emptyUsage,
    audioInput: audioInputTokens(seconds),
    input: 256,
    output: Math.ceil(audioInputTokens(seconds) * 0.4),
  },
];
const isExhausted = (error: unknown): boolean => error instanceof AppError && /_exhausted$|budget/.test(error.code);

const due = ({ usage, seconds }: Transcribed): Usage => sum(usage, { ...emptyUsage, input: recordedTokens(seconds) });

/**
 * @param admit opens a bill for a model, later where another machine has leased the balance: until then the conversation's own
 * reservation covers the audio. It throws AppError where the model is not allowed, or has no price.
 * @param report writes down what is a defect of ours.
 */
export function createTranscripts(
  admit: (model: string) => Reservation | Promise<Reservation>,
  channel: ChannelSnapshot,
  report: (error: unknown) => boolean,
): Transcripts {
  /** null = the model's bill cannot be opened. */
  const bills = new Map<string, Bill | null>();
  const opening = new Map<string, Promise<void>>();
  /** Seconds, of all and of those that were written down, that no bill of their own is for. */
  let unbilled = 0;
  let written = 0;
  let audioInputSeconds = 0;
  const open = (model: string, reservation: Reservation, from: number): Bill => {
    const bill = { reservation, usage: emptyUsage, seconds: 0, from };
    bills.set(model, bill);
    return bill;
  };
  /** A balance may grow; what else stands in the way stays: it happened and is paid for, by the conversation's own price then. */
  const rejected = (model: string, error: unknown): void => {
    report(error);
    if (!isExhausted(error)) bills.set(model, null);
  };
  const openLater = (model: string, admitted: Promise<Reservation>): null => {
    const opened = admitted
      .then((reservation) => void open(model, reservation, audioInputSeconds))
      .catch((error: unknown) => rejected(model, error))
      .finally(() => opening.delete(model));
    opening.set(model, opened);
    return null;
  };
  const billOf = (model: string, from: number): Bill | null => {
    const known = bills.get(model);
    if (known !== undefined) return known;
    if (opening.has(model)) return null;
    try {
      const admitted = admit(model);
      return admitted instanceof Promise ? openLater(model, admitted) : open(model, admitted, from);
    } catch (error) {
      rejected(model, error);
      if (isExhausted(error) || isOurs(error)) throw error;
      return null;
    }
  };
  const openBill = (model: string): Bill | null => {
    try {
      return billOf(model, 0);
    } catch (error) {
      if (isOurs(error)) throw error;
      return null;
    }
  };
  return {
    expect(model, { committed, pending }) {
      audioInputSeconds = committed;
      try {
        const bill = billOf(model, committed);
        if (bill === null) {
          unbilled = Math.max(unbilled, committed + pending);
          return true;
        }
        const { reservation: charge } = bill;
        return maxUsage(committed - bill.from + pending + roundUp).every((usage) => charge.extendTo(usage));
      } catch (error) {
        if (isOurs(error)) throw error;
        return false;
      }
    },
    ensureLease: () => Promise.all([...bills.values()].map((bill) => bill?.reservation.ensureLease())),
    otherUsage: () =>
      unbilled === 0
        ? emptyUsage
        : { ...emptyUsage, audioInput: recordedTokens(Math.max(0, unbilled - written) + roundUp) },
    take(model, transcribed) {
      const bill = model === null ? null : openBill(model);
      if (bill === null) {
        written += transcribed.seconds;
        return due(transcribed);
      }
      bill.usage = sum(bill.usage, transcribed.usage);
      bill.seconds += transcribed.seconds;
      const { reservation: charge } = bill;
      charge.checkpoint(due(bill), channel);
      return charge.extendTo(due(bill)) ? null : false;
    },
    async finish(endReason) {
      await Promise.all(opening.values());
      for (const bill of bills.values()) {
        if (bill === null) continue;
        const served = { channel, upstreamModel: bill.reservation.parsed.model, dropped: [] };
        try {
          await finishRequest(bill.reservation, served, {
            endReason,
            usage: due(bill),
            usageSource: 'reported',
            firstByteMs: null,
            attempts: [],
          });
        } catch (error) {
          report(error);
          await closeUnfinished({ report }, bill.reservation);
        }
      }
    },
  };
}
