/** Answers the token-counting calls of the dialects: by an upstream of the client's own dialect, where counting is free, else here. It is never charged. */
import { AppError } from '../../contract/errors.ts';
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import { codecFor } from '../../protocols/registry.ts';
import { number, record } from '../../protocols/shared/json.ts';
import { checkWords } from '../admission/blocked-words.ts';
import type { TokenCounter } from '../admission/counting/counter.ts';
import { plainWords, tokensAround } from '../admission/counting/envelope.ts';
import { countLocally } from '../admission/meter.ts';
import type { ParsedRequest } from '../intake/parsed-request.ts';
import { noPrompt, unitsOf } from '../intake/prompt.ts';
import type { Deadlines } from '../shared/deadline.ts';
import { isOurs } from '../shared/defect.ts';
import { nothingDelivered } from '../shared/delivered-text.ts';
import type { RelayState } from '../state/state.ts';
import { type Prepared, plainVariant, prepare } from '../upstream/prepare.ts';
import { type SendCore, send } from '../upstream/send.ts';
import { parseBody, readWhole } from '../upstream/whole.ts';

export interface CountCore extends Pick<SendCore, 'dispatch' | 'now' | 'token' | 'health'> {
  readonly counter: TokenCounter;
  readonly deadlines: Deadlines;
  readonly state: Pick<RelayState, 'settings' | 'unsupportedOf'>;
}

/** Agents ask before they begin; an estimate now is better than a count later. */
const upstreamTimeoutMs = 5_000;

/** Counting is free, so it may not take an upstream's time from paid requests. */
const maxAtOnce = 16;
/** Longer prompts are counted by their beginning and their end: a count is free, and others wait for the thread that counts. */
const countedUnits = 256 * 1024;
const sampledUnits = 64 * 1024;
/** While so many long ones are counted, the others get an estimate from their size in bytes. */
const maxLong = 2;
/** Bytes of a token: 3 of Chinese, 4 of English. */
const tokenBytes = 3;

export class TokenCounts {
  /** Upstreams that are asked at the moment. */
  private atOnce = 0;
  /** Long prompts that are counted here at the moment. */
  private long = 0;

  constructor(private readonly core: CountCore) {}

  /** Never refuses for lack of balance: it is not charged. @param channels that may be asked, the best one first. */
  async answer(parsed: ParsedRequest, channels: readonly ChannelSnapshot[]): Promise<Response> {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-oneapi-request-id': parsed.requestId };
    const native = await this.natively(parsed, channels);
    if (native !== null) return new Response(native, { headers });
    const tokens = (await this.counted(parsed)) + tokensAround(parsed.body);
    return Response.json(codecFor(parsed.protocol).definition.countAnswer(tokens), { headers });
  }

  /** @returns the upstream's own answer; null = it gave none that can be read. */
  private async requested(prepared: Prepared, parsed: ParsedRequest): Promise<Uint8Array<ArrayBuffer> | string | null> {
    const abort = new AbortController();
    const leave = () => abort.abort();
    parsed.request.signal.addEventListener('abort', leave, { once: true });
    const incoming = this.core.deadlines.start(upstreamTimeoutMs, leave);
    this.atOnce++;
    try {
      const answer = await send(this.core, prepared, abort);
      if (answer.kind === 'failure') return null;
      const bytes = await readWhole(answer.response, upstreamTimeoutMs, abort, this.core.deadlines);
      const counted = bytes === null ? null : record(parseBody(bytes));
      if (counted === null) return null;
      if (counts.some((name) => number(counted[name]) !== null)) return bytes;
      const elsewhere = number(counted.inputTokens);
      return elsewhere === null ? null : JSON.stringify(codecFor(parsed.protocol).definition.countAnswer(elsewhere));
    } finally {
      this.atOnce--;
      incoming.end();
      parsed.request.signal.removeEventListener('abort', leave);
    }
  }

  private async natively(
    parsed: ParsedRequest,
    channels: readonly ChannelSnapshot[],
  ): Promise<Uint8Array<ArrayBuffer> | string | null> {
    const prepared =
      this.atOnce < maxAtOnce && (await this.mayLeave(parsed)) ? this.preparedFor(parsed, channels) : null;
    return prepared === null ? null : this.requested(prepared, parsed);
  }

  /** A prompt that may not go to an upstream for an answer may not for a count. */
  private async mayLeave({ protocol, body, prompt }: ParsedRequest): Promise<boolean> {
    if ((codecFor(protocol).definition.kept?.requested(body) ?? []).length > 0) return false;
    try {
      await checkWords(this.core.state.settings, prompt);
      return true;
    } catch (error) {
      if (isOurs(error)) throw error;
      return false;
    }
  }

  private preparedFor(parsed: ParsedRequest, channels: readonly ChannelSnapshot[]): Prepared | null {
    for (const channel of channels) {
      const { health, state } = this.core;
      if (health.condition(channel, parsed.model) !== 'up') continue;
      const without = state.unsupportedOf(channel.id);
      const variant = without === undefined ? plainVariant : { ...plainVariant, without };
      const prepared = prepare(parsed, channel, health.pickKey(channel, parsed.model), state.settings, variant);
      if (prepared instanceof AppError) throw prepared;
      if (prepared !== null) return prepared;
    }
    return null;
  }

  /** Tokens of the words and media of a prompt. */
  private async counted(parsed: ParsedRequest): Promise<number> {
    // Text around the words is added as providers write it.
    const prompt = { ...parsed.prompt, ...plainWords(parsed.prompt) };
    const chat: ParsedRequest = { ...parsed, operation: 'chat', prompt };
    const nothing = { body: null, text: nothingDelivered };
    const units = unitsOf(prompt.texts);
    if (units <= countedUnits) return (await countLocally(this.core.counter, chat, nothing)).input;
    if (this.long >= maxLong) return Math.ceil((parsed.json?.bytes.length ?? 3 * units) / tokenBytes);
    this.long++;
    try {
      const texts = [beginningOf(prompt.texts), endOf(prompt.texts)];
      const sample = await countLocally(this.core.counter, { ...chat, prompt: { ...noPrompt, texts } }, nothing);
      return Math.ceil((sample.input * units) / (2 * sampledUnits)) + prompt.media;
    } finally {
      this.long--;
    }
  }
}

function beginningOf(texts: readonly string[]): string {
  let found = '';
  for (const text of texts) {
    if (found.length >= sampledUnits) break;
    found += text.slice(0, sampledUnits - found.length);
  }
  return found;
}

function endOf(texts: readonly string[]): string {
  let found = '';
  for (let at = texts.length - 1; at >= 0 && found.length < sampledUnits; at--)
    found = (texts[at] ?? '').slice(found.length - sampledUnits) + found;
  return found;
}

/** Where the dialects put the count; `inputTokens` is none of theirs. */
const counts = ['input_tokens', 'totalTokens'] as const;
