/** Words and sound on their way to a client: words are kept for counting as far as an answer of any model reaches, measured beyond. */
import type { ChatEvent } from '../../protocols/canonical.ts';
import { addCall, hostedCall } from '../../protocols/shared/tool-usage.ts';
import { secondsIn, usualRate } from './sound.ts';

export interface DeliveredText {
  readonly texts: readonly string[];
  /** The choice that each text belongs to; null = all belong to the first. */
  readonly choices: readonly number[] | null;
  /** UTF-16 units of all words, also of those that were not kept. */
  readonly units: number;
  /** Those of them that are thoughts. */
  readonly thoughtUnits: number;
  readonly spokenSeconds: number;
  /** Calls of tools that the provider ran, by tool; absent = none were seen. */
  readonly calls?: Readonly<Record<string, number>>;
}

/** Some four times the longest answer of any model. */
const keptUnits = 2 * 1024 * 1024;

export const nothingDelivered: DeliveredText = {
  texts: [],
  choices: null,
  units: 0,
  thoughtUnits: 0,
  spokenSeconds: 0,
};

export const deliveredTextOf = (texts: readonly string[]): DeliveredText => ({
  ...nothingDelivered,
  texts,
  units: texts.reduce((sum, text) => sum + text.length, 0),
});

/** The same without the texts from a place on. */
export const textBefore = (
  { texts, choices, thoughtUnits, spokenSeconds }: DeliveredText,
  place: number,
): DeliveredText => ({
  ...deliveredTextOf(texts.slice(0, place)),
  thoughtUnits,
  choices: choices === null ? null : choices.slice(0, place),
  spokenSeconds,
});

/** What a whole answer delivers. */
export function textOfEvents(events: readonly ChatEvent[]): DeliveredText {
  const tally = createDeliveredText();
  for (const event of events) tally.take(event);
  return tally;
}

/** The words of each choice: pieces that come interleaved are no words of one text. */
export function textByChoice({ texts, choices }: DeliveredText): readonly string[] {
  if (choices === null) return [texts.join('')];
  const joined = new Map<number, string>();
  for (const [place, text] of texts.entries()) {
    const choice = choices[place] ?? 0;
    joined.set(choice, (joined.get(choice) ?? '') + text);
  }
  return [...joined.values()];
}

/** The words of an event; null = it has none. The name of a call is written by the model like its arguments. */
export function wordOf(event: ChatEvent): string | null {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return event.text;
    case 'tool-call-start':
      return event.name === '' ? null : event.name;
    case 'tool-call-delta':
      return event.arguments;
    case 'other-choice':
      return wordOf(event.event);
    default:
      return null;
  }
}

export class DeliveredTextTally implements DeliveredText {
  readonly texts: string[] = [];
  choices: number[] | null = null;
  units = 0;
  thoughtUnits = 0;
  spokenSeconds = 0;
  calls?: Record<string, number>;

  add(text: string): void {
    if (this.units < keptUnits) {
      this.texts.push(text);
      this.choices?.push(0);
    }
    this.units += text.length;
  }

  /** @param base64 samples of 16 bits at 24 kHz, the one form in which speech is streamed. */
  speak(base64: string): void {
    this.spokenSeconds += secondsIn(base64, usualRate);
  }

  /** What an event delivers. */
  take(event: ChatEvent, choice = 0): void {
    if (event.type === 'other-choice') {
      this.take(event.event, event.choice);
      return;
    }
    const word = wordOf(event);
    if (word !== null) {
      if (event.type === 'reasoning-delta') this.thoughtUnits += word.length;
      if (choice > 0) this.choices ??= this.texts.map(() => 0);
      const kept = this.texts.length;
      this.add(word);
      if (choice > 0 && this.choices !== null && this.texts.length > kept) this.choices[kept] = choice;
      return;
    }
    // A tool that the provider ran.
    const ran =
      event.type === 'unknown' ? hostedCall(event.raw) : event.type === 'media' ? (event.hosted ?? null) : null;
    if (ran !== null) {
      this.calls ??= {};
      addCall(this.calls, ran);
    }
    if (event.type === 'media' && event.part.type === 'audio' && event.part.source.kind === 'base64')
      this.speak(event.part.source.data);
  }
}

export const createDeliveredText = (): DeliveredTextTally => new DeliveredTextTally();
