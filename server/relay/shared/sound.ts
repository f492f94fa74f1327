/** How long sound is that reaches a client in pieces: plain samples by their rate, any other form as a recording of that beginning and size. */
import { base64Bytes, defaultRate } from './audio.ts';
import { audioSeconds } from './recordings/length.ts';

/** So much of it shows its form. */
const headSize = 64 * 1024;
/** The form that a dialect means where it names none. */
const unnamed = 'pcm16';

const plainForm = /^(?:l16|pcm|raw)/i;
const telephoneForm = /g711|ulaw|alaw|mulaw|pcmu|pcma|basic/i;

/** No dialect speaks in more samples a second. */
const fastestRate = 48_000;

/** @returns bytes of a second; null = its packets say it. */
function plainRate(form: string): number | null {
  // 8 bits at 8 kHz.
  if (telephoneForm.test(form)) return 8000;
  if (!plainForm.test(form)) return null;
  const rate = Number(/rate=(\d{3,6})/i.exec(form)?.[1] ?? Number.NaN);
  return Number.isFinite(rate) ? 2 * Math.min(rate, fastestRate) : defaultRate;
}

export class Sound {
  private bytes = 0;
  private marked = 0;
  private readonly head: Uint8Array[] = [];
  private headBytes = 0;
  private form = unnamed;
  /** The answer did not say it. */
  private isAsked = false;
  /** Seconds of so many bytes, measured last. */
  private measured = { bytes: 0, seconds: 0 };

  /** @param named by the answer. @param asked for by the client: it holds where the answer names none. */
  add(base64: string, named: string, asked: string | null): void {
    if (this.bytes === 0) {
      this.isAsked = named === unnamed;
      this.form = this.isAsked ? (asked ?? unnamed) : named;
    }
    this.bytes += base64Bytes(base64);
    if (this.headBytes >= headSize) return;
    const piece = Buffer.from(base64.slice(0, Math.ceil(headSize / 3) * 4), 'base64');
    this.head.push(piece);
    this.headBytes += piece.length;
  }

  /** Where it stands, for `backToMark`. */
  mark(): void {
    this.marked = this.bytes;
  }

  /** Drops the sound added since the mark: it was not delivered. */
  backToMark(): void {
    this.bytes = this.marked;
  }

  seconds(): number {
    const rate = plainRate(this.form);
    // A rate that was only asked for makes no sound shorter.
    if (rate !== null) return this.bytes / (this.isAsked ? Math.min(rate, defaultRate) : rate);
    const { bytes } = this;
    if (this.measured.bytes !== bytes) {
      const seconds = audioSeconds(new Uint8Array(Buffer.concat(this.head)), bytes);
      this.measured = { bytes, seconds };
    }
    return this.measured.seconds;
  }
}
