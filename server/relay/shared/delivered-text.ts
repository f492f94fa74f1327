/** Words and sound on their way to a client: words are kept for counting as far as an answer of any model reaches, measured beyond. */
import type { ChatEvent } from '../../protocols/canonical.ts';
import { addCall, hostedCall } from '../../protocols/shared/tool-usage.ts';
import { defaultRate, secondsIn } from './audio.ts';

export interface DeliveredText {
  readonly texts: readonly string[];
  /** The choice that each text belongs to; null = all belong to the first. */
  readonly choices: readonly number[] | null;
  /** UTF-16 units of all words, also of those that were not kept. */
  readonly units: number;
  /** Those of them that are thoughts. */
  readonly thoughtUnits: number;
  readonly audioSeconds: number;
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
  audioSeconds: 0,
};

export const deliveredTextOf = (texts: readonly string[]): DeliveredText => ({
  ...nothingDelivered,
  texts,
  units: texts.reduce((sum, text) => sum + text.length, 0),
});

/** The same without the texts from a place on. */
export const textBefore = (
  { texts, choices, thoughtUnits, audioSeconds }: DeliveredText,
  place: number,
): DeliveredText => ({
  ...deliveredTextOf(texts.slice(0, place)),
  thoughtUnits,
  choices: choices === null ? null : choices.slice(0, place),
  audioSeconds,
});

/** What a whole answer delivers. */
export function textOfEvents(events: readonly ChatEvent[]): DeliveredText {
  const tally = new DeliveredTextTally();
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

export class DeliveredTextTally implements DeliveredText {
  readonly texts: string[] = [];
  choices: number[] | null = null;
  units = 0;
  thoughtUnits = 0;
  audioSeconds = 0;
  calls?: Record<string, number>;

  add(text: string, choice = 0): void {
    if (this.units < keptUnits) {
      if (choice > 0) this.choices ??= this.texts.map(() => 0);
      this.texts.push(text);
      this.choices?.push(choice);
    }
    this.units += text.length;
  }

  /** @param base64 samples of 16 bits at 24 kHz, the one form in which speech is streamed. */
  speak(base64: string): void {
    this.audioSeconds += secondsIn(base64, defaultRate);
  }

  /** What an event delivers. The name of a call is written by the model like its arguments. @returns whether it has words, written or spoken. */
  take(event: ChatEvent, choice = 0): boolean {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.add(event.text, choice);
        return true;
      case 'reasoning-delta':
        this.thoughtUnits += event.text.length;
        this.add(event.text, choice);
        return true;
      case 'tool-call-start':
        if (event.name === '') return false;
        this.add(event.name, choice);
        return true;
      case 'tool-call-delta':
        this.add(event.arguments, choice);
        return true;
      case 'other-choice':
        return this.take(event.event, event.choice);
      case 'unknown':
        this.count(hostedCall(event.raw));
        return false;
      case 'media': {
        const { part } = event;
        this.count(event.hosted ?? null);
        if (part.type !== 'audio' || part.source.kind !== 'base64') return false;
        this.speak(part.source.data);
        return true;
      }
      default:
        return false;
    }
  }

  /** @param tool that the provider ran; null = it ran none. */
  private count(tool: string | null): void {
    if (tool === null) return;
    this.calls ??= {};
    addCall(this.calls, tool);
  }
}
