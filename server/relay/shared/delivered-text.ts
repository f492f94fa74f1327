/**
 * What is on its way to a client, counted for answers without a usage. Words are kept for counting as far as an answer of any
 * model reaches, measured beyond. Every kind of event and of part has a counter here: one without does not compile.
 */
import type { ChatEvent, DeliveredPart } from '../../protocols/canonical.ts';
import { addCall, hostedCall, writtenFor } from '../../protocols/shared/tool-usage.ts';
import { base64Bytes } from './audio.ts';
import { Sound } from './sound.ts';

export interface DeliveredText {
  readonly texts: readonly string[];
  /** The choice that each text belongs to; null = all belong to the first. */
  readonly choices: readonly number[] | null;
  /** UTF-16 units of all words, also of those that were not kept. */
  readonly units: number;
  /** Those of them that are thoughts. */
  readonly thoughtUnits: number;
  readonly audioSeconds: number;
  /** Pictures, begun ones too: what each counts for depends on the model. */
  readonly pictures: number;
  /** Tokens of videos and documents. */
  readonly fileTokens: number;
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
  pictures: 0,
  fileTokens: 0,
};

/** Anything but words. */
export const hasMedia = ({ audioSeconds, pictures, fileTokens }: DeliveredText): boolean =>
  audioSeconds + pictures + fileTokens > 0;

export const deliveredTextOf = (texts: readonly string[]): DeliveredText => ({
  ...nothingDelivered,
  texts,
  units: texts.reduce((sum, text) => sum + text.length, 0),
});

/** The same without the texts from a place on. */
export const textBefore = (
  { texts, choices, thoughtUnits, audioSeconds, pictures, fileTokens }: DeliveredText,
  place: number,
): DeliveredText => ({
  ...deliveredTextOf(texts.slice(0, place)),
  thoughtUnits,
  choices: choices === null ? null : choices.slice(0, place),
  audioSeconds,
  pictures,
  fileTokens,
});

/** What a whole answer delivers. @param form of sound that was asked for; null = none was named. */
export function textOfEvents(events: readonly ChatEvent[], form: string | null = null): DeliveredText {
  const tally = new DeliveredTextTally(form);
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

/** Tokens of a second of video, and the fewest bytes that a second takes. Source: ai.google.dev/gemini-api/docs/video-understanding. */
const videoTokensPerSecond = 263;
const thinnestVideo = 16_000;
/** A page of a document; the same source's guide on documents. */
const pageTokens = 258;
/** As of words: a token for each so many bytes. */
const bytesPerToken = 4;
/** Seconds of a sound that lies elsewhere: its length is not known. */
const unseenSeconds = 8;

function fileTokensOf({ source }: Extract<DeliveredPart, { type: 'file' }>): number {
  const isVideo = source.kind !== 'id' && source.mimeType?.startsWith('video/') === true;
  if (source.kind !== 'base64') return isVideo ? unseenSeconds * videoTokensPerSecond : pageTokens;
  const bytes = base64Bytes(source.data);
  if (isVideo) return Math.ceil((bytes / thinnestVideo) * videoTokensPerSecond);
  return Math.max(pageTokens, Math.ceil(bytes / bytesPerToken));
}

/** Counts one part. @returns whether it may be seen or heard. */
type Counter<Type extends DeliveredPart['type']> = (
  tally: DeliveredTextTally,
  part: Extract<DeliveredPart, { readonly type: Type }>,
  isDraft: boolean,
) => boolean;

const counters: { readonly [Type in DeliveredPart['type']]: Counter<Type> } = {
  audio: (tally, { source, format }) => {
    if (source.kind !== 'base64') return false;
    tally.speak(source.data, format);
    return true;
  },
  image: (tally, _part, isDraft) => {
    tally.draw(isDraft);
    return true;
  },
  file: (tally, part, isDraft) => {
    if (!isDraft) tally.fileTokens += fileTokensOf(part);
    return true;
  },
};

export class DeliveredTextTally implements DeliveredText {
  readonly texts: string[] = [];
  choices: number[] | null = null;
  units = 0;
  thoughtUnits = 0;
  pictures = 0;
  fileTokens = 0;
  calls?: Record<string, number>;
  private sound: Sound | null = null;
  /** The last picture is a draft of one that has not come yet. */
  private isDrawing = false;
  private readonly marked = { texts: 0, units: 0, thoughtUnits: 0, pictures: 0, fileTokens: 0, isDrawing: false };

  /** @param form of sound that the client asked for; null = it named none. */
  constructor(private readonly form: string | null = null) {}

  get audioSeconds(): number {
    return this.sound === null ? 0 : this.sound.seconds();
  }

  add(text: string, choice = 0): void {
    if (this.units < keptUnits) {
      if (choice > 0) this.choices ??= this.texts.map(() => 0);
      this.texts.push(text);
      this.choices?.push(choice);
    }
    this.units += text.length;
  }

  /** Where it stands, for `backToMark`. */
  mark(): void {
    const { marked } = this;
    marked.texts = this.texts.length;
    marked.units = this.units;
    marked.thoughtUnits = this.thoughtUnits;
    marked.pictures = this.pictures;
    marked.fileTokens = this.fileTokens;
    marked.isDrawing = this.isDrawing;
    this.sound?.mark();
  }

  /** The last texts were not delivered: so many units of all were, and no part of a text. */
  backToUnits(units: number): void {
    while (this.units > units && this.texts.length > 0) {
      this.units -= this.texts.pop()?.length ?? 0;
      this.choices?.pop();
    }
  }

  /** Drops the text added since the mark: it was not delivered. */
  backToMark(): void {
    const { marked } = this;
    this.texts.length = marked.texts;
    if (this.choices !== null) this.choices.length = marked.texts;
    this.units = marked.units;
    this.thoughtUnits = marked.thoughtUnits;
    this.pictures = marked.pictures;
    this.fileTokens = marked.fileTokens;
    this.isDrawing = marked.isDrawing;
    this.sound?.backToMark();
  }

  /** The same with events that count only for now: their words among the texts, or by their length alone. */
  with(events: readonly ChatEvent[], isFinal: boolean): DeliveredText {
    const calls = this.calls === undefined ? undefined : { ...this.calls };
    this.mark();
    try {
      for (const event of events) this.take(event);
      const { texts, choices, units, thoughtUnits, audioSeconds, pictures, fileTokens } = this;
      return {
        ...{ texts: isFinal ? [...texts] : texts, choices: isFinal && choices !== null ? [...choices] : choices },
        ...{ units, thoughtUnits },
        ...{ audioSeconds, pictures, fileTokens },
        ...(this.calls === undefined ? {} : { calls: { ...this.calls } }),
      };
    } finally {
      // Who meets a defect here counts again: nothing may count twice.
      this.backToMark();
      if (calls === undefined) delete this.calls;
      else this.calls = calls;
    }
  }

  /** @param form as the answer names it. */
  speak(base64: string, form: string): void {
    this.sound ??= new Sound();
    this.sound.add(base64, form, this.form);
  }

  /** A picture counts once, its drafts with it. */
  draw(isDraft: boolean): void {
    if (!this.isDrawing) this.pictures++;
    this.isDrawing = isDraft;
  }

  /** What an event delivers. The name of a call is written by the model like its arguments. @returns whether it has something to read, see or hear. */
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
      case 'unknown': {
        this.count(hostedCall(event.raw));
        const words = writtenFor(event.raw);
        if (words === '') return false;
        this.add(words, choice);
        return true;
      }
      case 'media':
        this.count(event.hosted ?? null);
        return this.takePart(event.part, false);
      case 'media-draft':
        return this.takePart(event.part, true);
      case 'omitted':
        if (event.words === undefined) return false;
        this.add(event.words, choice);
        return true;
      case 'response-start':
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
      case 'tool-call-end':
      case 'usage':
      case 'finish':
      case 'error':
        return false;
      default:
        return event satisfies never;
    }
  }

  private takePart(part: DeliveredPart, isDraft: boolean): boolean {
    // The table has one row for each type; the checker cannot see that both are the same.
    return (counters[part.type] as Counter<DeliveredPart['type']>)(this, part, isDraft);
  }

  /** @param tool that the provider ran; null = it ran none. */
  private count(tool: string | null): void {
    if (tool === null) return;
    this.calls ??= {};
    addCall(this.calls, tool);
  }
}
