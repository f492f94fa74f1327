/**
 * A socket for responses: each turn is the request that `POST /v1/responses` would be, through all of its steps, and its
 * events come back without the framing of a stream. https://developers.openai.com/api/docs/guides/websocket-mode
 */
import type { Language } from '../../../contract/enum.ts';
import { responseObject } from '../../../protocols/openai-responses/response.ts';
import { type Json, parseJson, record, records, text } from '../../../protocols/shared/json.ts';
import { type RawFrame, SseSplitter } from '../../../protocols/shared/sse.ts';
import { emptyUsage } from '../../../protocols/shared/usage.ts';
import type { SocketTurn, TurnSink } from '../../intake/parsed-request.ts';
import type { Deadline, Deadlines } from '../../shared/deadline.ts';
import type { Reporter } from '../../shared/defect.ts';
import { clientError, localizedError } from '../../shared/render-error.ts';
import { goingAway, policyViolation } from '../realtime/close-code.ts';
import type { ClientSocket, Conversation } from '../realtime/conversation.ts';
import { asInput, joined, readClientFrame, type Turn, turnOf } from './client-frame.ts';
import type { KeptInputs } from './kept-input.ts';
import {
  alreadyActive,
  connectionLimit,
  eventRefused,
  notFound,
  previousNotFound,
  streamRefused,
} from './vendor-words.ts';

/** As long as OpenAI lets one live. */
const lifeMs = 60 * 60_000;
const normal = 1000;
/** Results of the listener for a frame that waits for the client, and for one that is lost. */
const waits = -1;
const lost = 0;

export interface ResponsesSocketDeps extends Reporter {
  readonly kept: KeptInputs;
  readonly deadlines: Deadlines;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Sends a turn through the relay. Never rejects. */
  readonly ask: (request: Request, turn: SocketTurn) => Promise<Response>;
  /** Whether the caller may use the model now. Never rejects. @returns the response that refuses it; null = it may. */
  readonly check: (request: Request, model: unknown) => Promise<Response | null>;
  readonly newId: () => string;
  /** Called once when the socket is over. */
  readonly over: (socket: ResponsesSocket) => void;
  /** The language of the caller. */
  readonly language: Language;
}

export class ResponsesSocket implements Conversation {
  readonly protocol = '';
  readonly #deps: ResponsesSocketDeps;
  readonly #url: string;
  readonly #headers: Headers;
  #client: ClientSocket | null = null;
  #life: Deadline | null = null;
  /** Ends the turn that is under way; null = none is. */
  #turn: AbortController | null = null;
  /** The client has the end of the turn's response: what it sends now is the next turn. */
  #isAnswered = false;
  #next: string | null = null;
  /** Resolves when the client takes more. */
  #drained: PromiseWithResolvers<void> | null = null;
  /** Its time is over, or the server's: it closes with its turn. */
  #closing: (() => void) | null = null;
  #isOver = false;

  /** @param opening the request that became this socket. */
  constructor(deps: ResponsesSocketDeps, { url, headers }: Pick<Request, 'url' | 'headers'>) {
    this.#deps = deps;
    this.#url = url;
    this.#headers = headersOfTurns(headers);
  }

  open(client: ClientSocket): void {
    this.#client = client;
    this.#life = this.#deps.deadlines.start(lifeMs, () =>
      this.#closeAfterTurn(() => {
        client.send(connectionLimit);
        client.close(normal, 'websocket_connection_limit_reached');
      }),
    );
    // The server went while it opened.
    this.#closing?.();
  }

  message(data: string | Uint8Array): void {
    if (this.#isOver) return;
    const source = typeof data === 'string' ? data : Buffer.from(data).toString('utf8');
    if (this.#turn === null) this.#begin(source);
    else if (this.#isAnswered && this.#next === null) this.#next = source;
    else if (typeIn(source) !== 'response.processed') this.#send(alreadyActive);
  }

  drain(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#next = null;
    this.#life?.end();
    this.#deps.kept.drop(this);
    this.#deps.over(this);
    this.#turn?.abort();
    this.drain();
  }

  /** The server goes: at once without a turn, else when it is over. */
  leave(): void {
    this.#closeAfterTurn(() => this.#client?.close(goingAway, 'shutting_down'));
  }

  #closeAfterTurn(close: () => void): void {
    this.#closing ??= close;
    if (this.#turn === null && this.#client !== null) this.#closing();
  }

  #begin(source: string): void {
    const turn = new AbortController();
    this.#turn = turn;
    this.#isAnswered = false;
    void this.#answer(source, turn.signal)
      .catch((error: unknown) => this.#broke(error))
      .then(() => this.#ended())
      .catch((error: unknown) => void this.#deps.report(error, ''));
  }

  #ended(): void {
    this.#turn = null;
    const next = this.#next;
    this.#next = null;
    if (this.#isOver) return;
    if (this.#closing !== null) this.#closing();
    else if (next !== null) this.#begin(next);
  }

  async #answer(source: string, signal: AbortSignal): Promise<void> {
    const { kept } = this.#deps;
    const frame = readClientFrame(source);
    // Refused as the same body is over HTTP.
    if (frame === null) {
      await this.#carry({ body: source, items: null }, signal, false);
      return;
    }
    const { event, previous } = frame;
    const type = text(event.type) ?? '';
    // Codex says so, and waits for no answer.
    if (type === 'response.processed') return;
    if (type !== 'response.create') return this.#send(eventRefused(type));
    if ((event.stream_id ?? null) !== null) return this.#send(streamRefused(event.stream_id));
    const before = previous === null ? null : kept.find(this, previous);
    const turn = this.#turnOf(() => turnOf(frame, before));
    if (turn === null) return;
    if (event.generate === false) return this.#warmUp(event, turn, previous, signal);
    const isDone = await this.#carry(turn, signal, event.store !== false);
    // A conversation whose turn failed is begun anew.
    if (!isDone && before !== null) kept.drop(this);
  }

  /** @returns null where the client was told why there is none. */
  #turnOf(make: () => Turn): Turn | null {
    try {
      return make();
    } catch (error) {
      this.#broke(error);
      return null;
    }
  }

  /** Nothing is asked of an upstream, and nothing charged: the input is kept for the turn that continues it. */
  async #warmUp(event: Json, { items }: Turn, previous: string | null, signal: AbortSignal): Promise<void> {
    if (items === null) return this.#send(previousNotFound(previous ?? ''));
    const refusal = await this.#deps.check(this.#request('', signal), event.model);
    if (refusal !== null) return this.#send(await errorIn(refusal));
    const id = `resp_${this.#deps.newId()}`;
    const created = Math.floor(this.#deps.now() / 1000);
    const context = { model: text(event.model) ?? '', responseId: id, created, includeUsage: false };
    const begun = responseObject(context, 'in_progress', { output: [], usage: null, reason: null });
    const done = responseObject(context, 'completed', { output: [], usage: emptyUsage, reason: null });
    this.#deps.kept.put(this, id, items);
    this.#send(JSON.stringify({ type: 'response.created', response: begun, sequence_number: 0 }));
    this.#isAnswered = true;
    this.#send(JSON.stringify({ type: 'response.completed', response: done, sequence_number: 1 }));
  }

  /** @returns whether a response came that can be continued. */
  async #carry({ body, items }: Turn, signal: AbortSignal, isStored: boolean): Promise<boolean> {
    const turn: SocketTurn = { pipe: null };
    const response = await this.#deps.ask(this.#request(body, signal), turn);
    if (response.status >= 400) {
      this.#send(await errorIn(response));
      return false;
    }
    const answer = new Answer((frame, isLast) => {
      if (isLast) this.#keep(answer, items, isStored);
      this.#isAnswered ||= isLast;
      this.#send(frame);
    });
    const sink: TurnSink = {
      write: (chunk) => answer.take(typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
      flush: () => this.#drained?.promise ?? null,
      end: () => undefined,
    };
    if (turn.pipe === null) sink.write(await response.text());
    // reason: what rejects is the sign to break off a connection; defects were reported, and the client is told here.
    else await turn.pipe(sink).catch(() => undefined);
    if (!answer.isOver) this.#send(answer.broken());
    return answer.id !== null;
  }

  /** Before the client gets the end: it may go on at once. */
  #keep({ id, output }: Answer, items: string | null, isStored: boolean): void {
    if (id === null || this.#isOver) return;
    if (items === null) this.#deps.kept.drop(this);
    else this.#deps.kept.put(this, id, joined([items, asInput(output, isStored)]));
  }

  #request(body: string, signal: AbortSignal): Request {
    const headers = new Headers(this.#headers);
    headers.set('content-length', String(Buffer.byteLength(body)));
    return new Request(this.#url, { method: 'POST', headers, body, signal });
  }

  #send(frame: string): void {
    if (this.#isOver || this.#client === null) return;
    const sent = this.#client.send(frame);
    if (sent === waits) this.#drained ??= Promise.withResolvers();
    else if (sent === lost) {
      this.#client.close(policyViolation);
      this.close();
    }
  }

  /** Reports what is a defect of ours; the client is told in any case, and may go on. */
  #broke(error: unknown): void {
    const requestId = this.#deps.newId();
    this.#deps.report(error, requestId);
    const { status, type, code, message } = localizedError(clientError(error, requestId), this.#deps.language);
    this.#send(JSON.stringify({ type: 'error', status, error: { type, code, message, param: null } }));
  }
}

const typeIn = (source: string): string | null => text(readClientFrame(source)?.event.type);

/** Of the handshake alone, or of a body. */
const ofHandshake =
  /^(?:upgrade|connection|sec-websocket-(?!protocol)|content-|transfer-encoding|accept$|accept-encoding|expect|openai-beta)/;

/** The key, the agent and whatever else a request over HTTP would carry. */
function headersOfTurns(headers: Headers): Headers {
  const kept = new Headers();
  for (const [name, value] of headers) if (!ofHandshake.test(name)) kept.set(name, value);
  const betas = (headers.get('openai-beta') ?? '').split(',').filter((beta) => !beta.includes('websocket'));
  if (betas.join('').trim() !== '') kept.set('openai-beta', betas.join(','));
  kept.set('content-type', 'application/json');
  kept.set('accept', 'text/event-stream');
  return kept;
}

/** A refusal as a frame: the status and the error of the same request over HTTP. */
async function errorIn(response: Response): Promise<string> {
  const error = record(record(parseJson(await response.text()))?.error) ?? { type: 'api_error', code: 'internal' };
  const wait = response.headers.get('retry-after');
  return JSON.stringify({
    type: 'error',
    status: response.status,
    error: error.code === notFoundCode ? { ...error, param: 'previous_response_id' } : error,
    ...(wait === null ? {} : { headers: { 'retry-after': wait } }),
  });
}
const notFoundCode = notFound('').code;

const ends = /"type"\s*:\s*"(?:response\.(?:output_item\.done|completed|incomplete|failed)|error)"/;

/** One response on its way to the client. */
class Answer {
  /** Id of a response that can be continued; null = none has come. */
  id: string | null = null;
  isOver = false;
  readonly #items: Json[] = [];
  #output: readonly Json[] = [];
  #error: Json | null = null;
  readonly #frames = new SseSplitter();
  readonly #pass: (frame: string, isLast: boolean) => void;

  /** @param pass called with each event as JSON. */
  constructor(pass: (frame: string, isLast: boolean) => void) {
    this.#pass = pass;
  }

  /** Its items; as they came where the end repeats none. */
  get output(): readonly Json[] {
    return this.#output.length > 0 ? this.#output : this.#items;
  }

  take(chunk: Uint8Array): void {
    for (const frame of this.#frames.push(chunk)) this.#event(frame);
  }

  #event({ data }: RawFrame): void {
    if (data === '' || data === '[DONE]' || this.isOver) return;
    if (ends.test(data)) this.#note(record(parseJson(data)));
    // Over a socket an error has a status, and is the end: what comes in a stream is followed by the response that failed.
    if (this.#error === null || this.isOver) this.#pass(data, this.isOver);
  }

  #note(event: Json | null): void {
    const item = record(event?.item);
    if (event?.type === 'response.output_item.done' && item !== null) this.#items.push(item);
    if (event?.type === 'error') this.#error = record(event.error) ?? event;
    const response = record(event?.response);
    this.isOver = /^response\.(?:completed|incomplete|failed)$/.test(String(event?.type));
    if (!this.isOver || event?.type === 'response.failed') return;
    this.id = text(response?.id);
    this.#output = records(response?.output);
  }

  /** For an answer that broke off without saying so. */
  broken(): string {
    const error = this.#error ?? { type: 'api_error', code: 'upstream_broken', message: 'The response broke off' };
    return JSON.stringify({ type: 'error', status: 502, error });
  }
}
