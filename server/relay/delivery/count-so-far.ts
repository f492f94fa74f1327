/**
 * What an answer owes while it is delivered, counted as its end would be: the note that a crash is charged by. Of a chat the
 * prompt is counted once, and of the words those that came since the last note.
 */
import { writtenPicture } from '../../contract/model-limits.ts';
import { completionTokensOf } from '../../contract/pricing/charge.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import { countLocally } from '../admission/meter.ts';
import { makesPictures } from '../admission/pictures.ts';
import type { Reservation } from '../admission/reservation.ts';
import { countedTexts } from '../intake/prompt.ts';
import { audioTokens } from '../shared/audio.ts';
import { type DeliveredText, nothingDelivered, textByChoice } from '../shared/delivered-text.ts';

/** UTF-16 units of a prompt that are counted; of a longer one its beginning is, and the rest taken to be like it. */
const sampledUnits = 64 * 1024;

export class CountSoFar {
  private input: number | null = null;
  private countedTexts = 0;
  private countedTokens = 0;
  private isCounting = false;

  constructor(
    private readonly counter: TokenCounter,
    private readonly reservation: Reservation,
  ) {}

  /**
   * @param reported what the upstream has reported until now.
   * @returns null while an earlier count is under way, and of pictures: an end counts those that were ordered.
   */
  async of(delivered: DeliveredText, reported: Usage | null): Promise<Usage | null> {
    if (this.isCounting || makesPictures(this.reservation.parsed.operation)) return null;
    this.isCounting = true;
    try {
      const usage = await this.count(delivered, reported === null);
      if (reported === null) return usage;
      const more = completionTokensOf(usage) - completionTokensOf(reported);
      return more > 0 ? { ...reported, output: reported.output + more } : reported;
    } finally {
      this.isCounting = false;
    }
  }

  private async count(delivered: DeliveredText, withPrompt: boolean): Promise<Usage> {
    const { counter, reservation } = this;
    const { parsed } = reservation;
    if (parsed.operation !== 'chat') return countLocally(counter, parsed, { body: null, text: delivered });
    if (withPrompt) this.input ??= await this.countPrompt();
    const { texts, choices, units, pictures, fileTokens, audioSeconds } = delivered;
    const [from, until] = [this.countedTexts, texts.length];
    const fresh = {
      ...nothingDelivered,
      texts: texts.slice(from, until),
      choices: choices === null ? null : choices.slice(from, until),
    };
    const counts = await counter.count(parsed.model, textByChoice(fresh));
    this.countedTexts = until;
    for (const tokens of counts) this.countedTokens += tokens;
    let kept = 0;
    for (let at = 0; at < until; at++) kept += texts[at]?.length ?? 0;
    const words = kept < units && kept > 0 ? Math.ceil((this.countedTokens * units) / kept) : this.countedTokens;
    return {
      ...emptyUsage,
      input: this.input ?? 0,
      output: words + fileTokens + (pictures === 0 ? 0 : pictures * writtenPicture(parsed.model)),
      audioOutput: audioTokens(audioSeconds),
    };
  }

  private async countPrompt(): Promise<number> {
    const { counter, reservation } = this;
    const { parsed } = reservation;
    const { prompt } = parsed;
    const nothing = { body: null, text: nothingDelivered };
    const texts = countedTexts(prompt);
    const units = texts.reduce((sum, text) => sum + text.length, 0);
    if (units <= sampledUnits) return (await countLocally(counter, parsed, nothing)).input;
    const sample = beginningOf(texts);
    const sampled = { ...prompt, texts: sample, frame: [], marks: [], objects: [], tokens: 0, media: 0 };
    const { input } = await countLocally(counter, { ...parsed, prompt: sampled }, nothing);
    return Math.ceil((input * units) / sampledUnits + prompt.tokens + prompt.media);
  }
}

function beginningOf(texts: readonly string[]): string[] {
  const found: string[] = [];
  let units = 0;
  for (const text of texts) {
    if (units >= sampledUnits) break;
    found.push(text.slice(0, sampledUnits - units));
    units += text.length;
  }
  return found;
}
