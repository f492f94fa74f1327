/** Words and sound on their way to a client: words are kept for counting as far as an answer of any model reaches, measured beyond. */
import { secondsIn, usualRate } from './sound.ts';

export interface DeliveredText {
  readonly texts: readonly string[];
  /** UTF-16 units of all words, also of those that were not kept. */
  readonly units: number;
  readonly spokenSeconds: number;
}

export interface DeliveredTextTally extends DeliveredText {
  add(text: string): void;
  /** @param base64 samples of 16 bits at 24 kHz, the one form in which speech is streamed. */
  speak(base64: string): void;
}

/** Some four times the longest answer of any model. */
const keptUnits = 2 * 1024 * 1024;

export const nothingDelivered: DeliveredText = { texts: [], units: 0, spokenSeconds: 0 };

export const deliveredTextOf = (texts: readonly string[]): DeliveredText => ({
  texts,
  units: texts.reduce((sum, text) => sum + text.length, 0),
  spokenSeconds: 0,
});

export function createDeliveredText(): DeliveredTextTally {
  const texts: string[] = [];
  let units = 0;
  let spokenSeconds = 0;
  return {
    texts,
    get units() {
      return units;
    },
    get spokenSeconds() {
      return spokenSeconds;
    },
    speak(base64) {
      spokenSeconds += secondsIn(base64, usualRate);
    },
    add(text) {
      if (units < keptUnits) texts.push(text);
      units += text.length;
    },
  };
}
