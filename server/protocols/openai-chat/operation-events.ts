/**
 * Reads streams of pictures, speech and transcripts. They end with an event of their own and, where a host thinks so, with `[DONE]`.
 * Sources: the event types of OpenAI's SDKs; MiniMax and Volcengine Ark (`partial_succeeded`, `partial_failed`, a last
 * `completed` without a picture); Mistral (`transcription.*`); MiniMax's `t2a_v2` as its hosts pass it on.
 */
import type { ChatEvent, Part, Usage } from '../canonical.ts';
import type { FrameKind, StreamReader, UpstreamHalf } from '../codec.ts';
import { endedEarly } from '../shared/ended-early.ts';
import { number, parseJson, record, text } from '../shared/json.ts';
import { mediaFrom } from '../shared/media.ts';
import type { SseFrame } from '../shared/sse.ts';
import { bucketsOf, plus } from '../shared/usage.ts';
import { decodeError } from './errors.ts';
import { readOpenAiUsage } from './usage.ts';

type Item = Readonly<Record<string, unknown>>;

const pictureEvent = /^image_(?:generation|edit|variation)\.(\w+)$/;

/** What only chat has, or what hosts word as one: chunks with choices, errors, `[DONE]`. */
class OperationReader implements StreamReader {
  frameKind: FrameKind = 'plain';
  progress: 'going' | 'stopped' = 'going';

  private ended = false;
  /** The event that ends it came. */
  private isComplete = false;
  private usage: Usage | null = null;
  /** The pictures, as the operation writes them in an answer of one piece. */
  private readonly pictures: Item[] = [];
  /** The latest state of a picture that is not finished. */
  private draft: Item | null = null;
  private words = '';
  private done: Item | null = null;

  /** @param chat reads what is no event of these operations. @param ordered pictures. */
  constructor(
    private readonly chat: StreamReader,
    private readonly ordered: number,
  ) {}

  feed(frame: SseFrame): ChatEvent[] {
    this.frameKind = 'plain';
    const body = frame.data === '' || frame.data === '[DONE]' ? null : record(parseJson(frame.data));
    const type = text(body?.type) ?? frame.event;
    const picture = pictureEvent.exec(type)?.[1];
    const events: ChatEvent[] = [];
    if (body === null) return frame.data === '[DONE]' ? this.close(true) : events;
    if (body.error != null && picture !== 'partial_failed') return this.fail(body);
    if (picture !== undefined) this.takePicture(picture, body, events);
    else if (type === 'speech.audio.delta') this.takeSound(text(body.audio) ?? text(body.delta), events);
    else if (type === 'speech.audio.done') this.complete(body, events);
    else if (type === 'transcript.text.delta' || type === 'transcription.text.delta')
      this.takeWords(text(body.delta) ?? text(body.text), events);
    else if (type === 'transcript.text.segment' || type === 'transcription.segment') {
      // Where the words come in segments alone they are the words.
      if (this.words === '') this.takeWords(text(body.text), events);
    } else if (type === 'transcript.text.done' || type === 'transcription.done') {
      if (this.words === '') this.takeWords(text(body.text), events);
      this.complete(body, events);
    } else if (type === 'error') return this.fail({ error: body });
    else if (text(record(body.data)?.audio) !== null || record(body.base_resp) !== null) this.takeSpoken(body, events);
    else return this.fallBack(frame);
    return events;
  }

  end(): ChatEvent[] {
    return this.close(false);
  }

  /** The answer in one piece. */
  answer(): unknown {
    const { pictures, draft, words, done } = this;
    const usage = done?.usage === undefined ? {} : { usage: done.usage };
    const data = draft === null ? pictures : [...pictures, draft];
    return data.length > 0
      ? { created: number(done?.created_at) ?? number(done?.created), data, ...usage }
      : { text: text(done?.text) ?? words, ...usage };
  }

  private takePicture(step: string, body: Item, events: ChatEvent[]): void {
    const source = pictureIn(body);
    const part: Part | null = source === null ? null : { type: 'image', source };
    const { b64_json, url, revised_prompt, size, output_format } = body;
    const item = { b64_json, url, revised_prompt, size, output_format };
    switch (step) {
      case 'partial_image':
        if (part === null) return;
        this.draft = item;
        events.push({ type: 'media-draft', part });
        return;
      case 'partial_failed':
        this.draft = null;
        this.pictures.push({ error: body.error ?? {} });
        events.push({ type: 'unknown', dialect: 'openai-chat', raw: body });
        return;
      case 'partial_succeeded':
      case 'completed':
        if (part !== null) {
          this.draft = null;
          this.pictures.push(item);
          events.push({ type: 'media', part });
        }
        if (step === 'completed') this.complete(body, events, part !== null);
        return;
      default:
        events.push({ type: 'unknown', dialect: 'openai-chat', raw: body });
    }
  }

  private takeSound(data: string | null, events: ChatEvent[]): void {
    if (data === null) return;
    const source = { kind: 'base64', data, mimeType: 'audio/mpeg' } as const;
    events.push({ type: 'media', part: { type: 'audio', source, format: 'mp3' } });
  }

  private takeWords(words: string | null, events: ChatEvent[]): void {
    if (words === null) return;
    this.words += words;
    events.push({ type: 'text-delta', index: 0, text: words });
  }

  /** Sound in hexadecimal digits; its last piece says so. */
  private takeSpoken(body: Item, events: ChatEvent[]): void {
    const status = record(body.base_resp);
    if (typeof status?.status_code === 'number' && status.status_code !== 0) {
      events.push(...this.fail({ error: { code: status.status_code, message: status.status_msg } }));
      return;
    }
    const data = record(body.data);
    const sound = text(data?.audio);
    if (sound !== null) this.takeSound(Buffer.from(sound, 'hex').toString('base64'), events);
    if (data?.status === 2) this.complete(body, events);
  }

  /** @param isOwn the usage is that of one picture of perhaps several: no event can know what those behind it cost. */
  private complete(body: Item, events: ChatEvent[], isOwn = false): void {
    const reported = readOpenAiUsage(body.usage);
    this.isComplete = true;
    this.done = body;
    // Others that were ordered may follow whenever they are made.
    if (!isOwn || this.pictures.length >= this.ordered) {
      this.progress = 'stopped';
      this.frameKind = 'complete';
    }
    // It is something, even if it says nothing.
    events.push({ type: 'unknown', dialect: 'openai-chat', raw: { type: body.type } });
    if (reported === null) return;
    const sum =
      isOwn && this.usage !== null ? { ...reported, ...plus(bucketsOf(this.usage), bucketsOf(reported)) } : null;
    this.usage = sum ?? reported;
    events.push({ type: 'usage', usage: this.usage });
  }

  private fail(body: unknown): ChatEvent[] {
    if (this.ended) return [];
    this.ended = true;
    this.progress = 'stopped';
    return [{ type: 'error', error: decodeError(0, JSON.stringify(body)) }];
  }

  private close(isMeant: boolean): ChatEvent[] {
    if (isMeant) this.frameKind = 'terminal';
    if (this.ended) return [];
    this.ended = true;
    this.progress = 'stopped';
    if (isMeant || this.isComplete) return [{ type: 'finish', reason: { unified: 'stop', raw: null } }];
    const rest = this.chat.end();
    return rest.length > 0 ? rest : [{ type: 'error', error: endedEarly }];
  }

  private fallBack(frame: SseFrame): ChatEvent[] {
    const events = this.chat.feed(frame);
    this.frameKind = this.chat.frameKind ?? 'plain';
    if (this.chat.progress === 'stopped') this.progress = 'stopped';
    for (const event of events) if (event.type === 'text-delta') this.words += event.text;
    return events;
  }
}

function pictureIn({ b64_json, url, output_format }: Item) {
  const data = text(b64_json);
  if (data !== null) return { kind: 'base64', data, mimeType: `image/${text(output_format) ?? 'png'}` } as const;
  const address = text(url);
  return address === null ? null : mediaFrom(address);
}

/** @param base of the dialect whose operations they are. @param ordered pictures that the request asks for. */
export const operationEvents = (base: UpstreamHalf, ordered: number): UpstreamHalf => ({
  ...base,
  reader: () => new OperationReader(base.reader(), ordered),
  markers: null,
});
