/**
 * One realtime conversation over two sockets. Frames pass unchanged; what an answer may cost is reserved before it is
 * asked for; a caller who may not continue gets an error event, and the socket is closed.
 */
import type { EndReason } from '../../../contract/enum.ts';
import { AppError } from '../../../contract/errors.ts';
import { allowChannel } from '../../../contract/key-channels.ts';
import { completionTokensOf, promptTokensOf } from '../../../contract/pricing/charge.ts';
import { type Json, parseJson, record, text } from '../../../protocols/shared/json.ts';
import { checkWords } from '../../admission/blocked-words.ts';
import type { TokenCounter } from '../../admission/counting/counter.ts';
import { whenReserved } from '../../admission/lease-client.ts';
import type { Reservation } from '../../admission/reservation.ts';
import { closeUnfinished, endOf, finishRequest } from '../../delivery/settle.ts';
import type { Authorize } from '../../intake/authorize.ts';
import type { Peer, Principal } from '../../intake/parsed-request.ts';
import { readPrompt } from '../../intake/prompt.ts';
import type { Deadline, Deadlines } from '../../shared/deadline.ts';
import { asAppError, isOurs, type Reporter } from '../../shared/defect.ts';
import type { AttemptSummary } from '../../shared/failure.ts';
import { shortage } from '../../shared/quota-numbers.ts';
import { clientError, localizedError } from '../../shared/render-error.ts';
import type { RelayState } from '../../state/state.ts';
import { withoutAbsurdText } from '../../upstream/absurd-usage.ts';
import { type Cuttable, drainOf } from '../../upstream/client-disconnect.ts';
import type { Line } from '../../upstream/line.ts';
import type { Prepared } from '../../upstream/prepare.ts';
import { asksForAnswers, limitedAnswer, modelsIn, readFrame, withModel } from './client-event.ts';
import {
  closeForClient,
  endedWell,
  goingAway,
  internalError,
  policyViolation,
  type SocketClose,
} from './close-code.ts';
import { createStepQueue } from './step-queue.ts';
import { createTranscripts, type Transcripts } from './transcript.ts';
import { createTurnReservation, type TurnReservation } from './turn-reserve.ts';
import { Turns, withoutSound } from './turns.ts';
import { transcribedIn } from './usage.ts';

/** The client's side of a conversation, as the listener offers it. */
export interface ClientSocket {
  send(data: string | Uint8Array): unknown;
  close(code?: number, reason?: string): void;
}

export interface Conversation {
  /** Chosen sub-protocol to confirm, '' = none was offered. */
  readonly protocol: string;
  open(client: ClientSocket): void;
  message(data: string | Uint8Array): void;
  /** The client took what waited for it. */
  drain?(): void;
  close(): void;
}

/** Parts of the relay that conversations need. */
export interface ConversationCore extends Reporter {
  readonly authorize: Authorize;
  readonly counter: TokenCounter;
  readonly state: Pick<RelayState, 'onUpdate' | 'settings'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly deadlines: Deadlines;
  /** Milliseconds between durable checkpoints of what is owed. */
  readonly checkpointMs: number;
  /** Milliseconds to wait for the end of an answer after the client left. */
  readonly billMs: number;
  /** Conversations that can be ended from outside. */
  readonly running: Set<Cuttable>;
}

export interface Parties {
  readonly reservation: Reservation;
  readonly principal: Principal;
  readonly peer: Peer;
  readonly protocol: string;
  /** Nobody answers: what is said is written down, and nothing else. */
  readonly transcribes: boolean;
  readonly line: Line;
  readonly prepared: Prepared;
  /** In order. */
  readonly attempts: readonly AttemptSummary[];
  /** Reserves for a model that transcribes the user's speech: a request with a bill of its own. */
  readonly reserve: (principal: Principal, model: string) => Reservation | Promise<Reservation>;
}

type Frame = string | Uint8Array;

/** Only these events of the upstream cost something, or report what something costs, or what its account has left. */
const billedEvents =
  /"(?:response\.|(?:transcription_)?session\.|error"|rate_limits\.|input_audio_buffer\.|conversation\.item\.input_audio_transcription\.)/;

interface Ending {
  readonly endReason: EndReason;
  readonly failure?: string;
}

/** Begins at once: messages of the upstream are read, and kept until the client's socket opens. */
export class RealtimeConversation implements Conversation {
  readonly protocol: string;
  readonly #core: ConversationCore;
  readonly #parties: Parties;
  readonly #reservation: Reservation;
  readonly #socket: WebSocket;
  readonly #turns: Turns;
  readonly #transcripts: Transcripts;
  readonly #turnReservation: TurnReservation;
  /** Milliseconds that answers are read on for after the client left. */
  readonly #drainMs: number;
  readonly #unsubscribe: () => void;
  readonly #cuttable: Cuttable = { cut: (reason) => this.#stop(reason) };
  /** Each side waits by itself for balance that another node holds. */
  readonly #clientQueue = createStepQueue((error) => this.#broke(error));
  readonly #upstreamQueue = createStepQueue((error) => this.#broke(error));
  #principal: Principal;
  #client: ClientSocket | null = null;
  /** Frames of the upstream from before the client's socket was open. */
  readonly #early: Frame[] = [];
  #firstByteMs: number | null = null;
  #checkpointedMs: number;
  /** Answers that were admitted, the first with the conversation itself. */
  #admitted = 0;
  /** Responses that the client requested, admitted before they begin. */
  #admittedAhead = 0;
  /** Tokens that the rate windows know of. */
  #counted = 0;
  /** The client left, or may not continue; answers under way are still read. */
  #left: Ending | null = null;
  /** The close code for the client; null = the upstream has not closed its socket. */
  #closed: SocketClose | null = null;
  #leaving: Deadline | null = null;
  #isOver = false;

  constructor(core: ConversationCore, parties: Parties) {
    const { reservation, prepared, line } = parties;
    const { plan, parsed } = reservation;
    this.protocol = parties.protocol;
    this.#core = core;
    this.#parties = parties;
    this.#reservation = reservation;
    this.#principal = parties.principal;
    this.#socket = line.socket;
    this.#checkpointedMs = core.now();
    this.#drainMs = drainOf(prepared.channel);
    this.#turns = new Turns(core.counter, parsed.model, core.now);
    this.#transcripts = createTranscripts(
      (model) => parties.reserve(this.#principal, model),
      prepared.channel,
      (error) => core.report(error, parsed.requestId),
    );
    this.#turnReservation = createTurnReservation(reservation, plan.prices, this.#turns, this.#transcripts.otherUsage);
    core.running.add(this.#cuttable);
    this.#unsubscribe = core.state.onUpdate(() => this.#guard(() => this.#mayContinue()));
    for (const data of line.greeting) this.#take(data);
    line.socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => this.#take(data);
    line.socket.addEventListener('close', (event) => this.#upstreamQueue(() => this.#upstreamClosed(event)));
  }

  open(client: ClientSocket): void {
    this.#guard(() => this.#open(client));
  }

  #open(client: ClientSocket): void {
    // Rejected before the client's socket was open.
    if (this.#isEnding && this.#closed === null) {
      client.close(policyViolation);
      return;
    }
    this.#client = client;
    for (const data of this.#early.splice(0)) client.send(data);
    if (this.#closed !== null) client.close(this.#closed.code, this.#closed.reason);
  }

  message(data: Frame): void {
    this.#clientQueue(() => this.#fromClient(data));
  }

  close(): void {
    this.#guard(() => this.#leave('client_gone'));
  }

  /** For what sockets, timers and events call. */
  #guard(step: () => unknown): void {
    try {
      step();
    } catch (error) {
      this.#broke(error);
    }
  }

  get #isEnding(): boolean {
    return this.#isOver || this.#left !== null;
  }

  // From the client to the upstream.

  #fromClient(data: Frame): undefined | Promise<unknown> {
    if (this.#isEnding) return;
    const forward = (frame: Frame | null): void => {
      if (frame === null || this.#isEnding || this.#socket.readyState !== WebSocket.OPEN) return;
      this.#socket.send(typeof frame === 'string' ? frame : new Uint8Array(frame));
    };
    try {
      const frame = this.#admit(data);
      if (frame instanceof Promise) return frame.then(forward, (error: unknown) => this.#refuse(error));
      forward(frame);
    } catch (error) {
      this.#refuse(error);
    }
    return undefined;
  }

  /** @returns the frame that goes to the upstream, null = none. @throws AppError that the client gets. */
  #admit(data: Frame): Frame | null | Promise<Frame | null> {
    const { parsed } = this.#reservation;
    const { authorize, state } = this.#core;
    const event = readFrame(data);
    const type = text(event.type);
    const { speaking, writing } = modelsIn(event);
    for (const model of speaking)
      if (model !== parsed.model) throw new AppError('realtime_model_fixed', { model: String(model) });
    for (const model of writing) authorize.allowModel(this.#principal, String(model));
    if (type === 'input_audio_buffer.append') return this.#admitSound(event, data);
    if (this.#parties.transcribes && asksForAnswers(event)) throw new AppError('realtime_transcribes');
    if (state.settings.blockedWords.length > 0) {
      const searched = checkWords(state.settings, readPrompt({ ...event, item: withoutSound(event.item) }));
      if (searched !== undefined)
        return searched.then(() => (this.#isEnding ? null : this.#admitWords(event, data, speaking.length > 0)));
    }
    return this.#admitWords(event, data, speaking.length > 0);
  }

  /** @param isNamed it names the model. */
  #admitWords(event: Json, data: Frame, isNamed: boolean): Frame | null | Promise<Frame | null> {
    const { parsed } = this.#reservation;
    const type = text(event.type);
    if (type === 'response.create') {
      if (!this.#mayContinue()) return null;
      this.#admitTurn();
    }
    this.#turns.sent(event);
    const { upstreamModel } = this.#parties.prepared;
    const mapped = isNamed && upstreamModel !== parsed.model ? withModel(event, upstreamModel) : null;
    return type === 'response.create'
      ? this.#admitAnswer(mapped ?? event, mapped === null ? data : JSON.stringify(mapped))
      : mapped === null
        ? data
        : JSON.stringify(mapped);
  }

  /** Sound passes when it can be paid for, with the answer that may follow it. */
  #admitSound(event: Json, data: Frame): Frame | null | Promise<Frame | null> {
    const fresh = this.#turns.committedAudio().pending === 0;
    this.#turns.sent(event);
    const isAffordable = () => [this.#transcriptionCarried(), this.#turnReservation.affordsSpeech()].every((is) => is);
    return this.#afterLease(isAffordable, () => {
      const limit = this.#transcriptionCarried() ? this.#turnReservation.update(fresh) : null;
      if (limit === null) return this.#refuseMore();
      if (limit > 0 && !this.#parties.transcribes && this.#socket.readyState === WebSocket.OPEN) {
        const { session } = this.#turns;
        const update = { ...session.kind(), ...session.limited(limit) };
        this.#socket.send(JSON.stringify({ type: 'session.update', session: update }));
      }
      return data;
    });
  }

  #transcriptionCarried(): boolean {
    const model = this.#turns.session.transcriber();
    return model === null || this.#transcripts.expect(model, this.#turns.committedAudio());
  }

  /** @param event as the upstream is to get it. @param frame the same as text. */
  #admitAnswer(event: Json, frame: Frame): Frame | null | Promise<Frame | null> {
    const response = record(event.response);
    return this.#afterLease(
      () => this.#turnReservation.affordsAnswer(response),
      () => {
        const held = this.#turnReservation.ask(response);
        if (held === null) return this.#refuseMore();
        this.#admittedAhead++;
        if (!held.shorter) return frame;
        return JSON.stringify(limitedAnswer(event, this.#turns.session.limited(held.limit)));
      },
    );
  }

  // From the upstream to the client.

  #take(data: string | ArrayBuffer | Uint8Array): void {
    this.#upstreamQueue(() => this.#fromUpstream(typeof data === 'string' ? data : new Uint8Array(data)));
  }

  #fromUpstream(data: Frame): undefined | Promise<unknown> {
    if (this.#isOver) return;
    this.#firstByteMs ??= this.#core.now();
    const event = typeof data === 'string' && billedEvents.test(data) ? record(parseJson(data)) : null;
    // The limits of the upstream's account are no business of its callers.
    if (event?.type === 'rate_limits.updated') return;
    const isOwedNow = event !== null && this.#received(event);
    if (this.#isOver) return;
    if (this.#left !== null) {
      if (this.#turns.waiting() === 0) void this.#end(this.#left);
      return;
    }
    const shown = event === null ? data : (withoutAbsurdText(String(data)) ?? data);
    if (this.#client === null) this.#early.push(shown);
    else this.#client.send(shown);
    if (event === null) return;
    if (!this.#turnReservation.delivered()) return this.#waitForBalance();
    if (isOwedNow || this.#core.now() - this.#checkpointedMs >= this.#core.checkpointMs) this.#checkpoint();
    return undefined;
  }

  /** @returns whether an answer's first content went by, or its end. */
  #received(event: Json): boolean {
    const isOwedNow = this.#turns.received(event);
    if (event.type === 'response.created') {
      if (this.#left === null) this.#answerBegins();
      else if (this.#drainMs === 0) this.#cancelAnswer();
    }
    if (event.type === 'conversation.item.input_audio_transcription.completed') {
      const transcribed = transcribedIn(event);
      const rest = transcribed === null ? null : this.#transcripts.take(this.#turns.session.transcriber(), transcribed);
      if (rest === false) this.#cut();
      else if (rest !== null) this.#turns.add(rest);
    }
    return isOwedNow;
  }

  /** An answer that the client did not ask for is admitted as it begins: the upstream detected the end of speech. */
  #answerBegins(): void {
    if (this.#admittedAhead > 0) {
      this.#admittedAhead--;
      return;
    }
    // The upstream has not opened what was asked for.
    if (this.#parties.transcribes) {
      this.#turnAway('rejected', new AppError('realtime_transcribes'));
      return;
    }
    if (!this.#mayContinue()) return;
    try {
      this.#admitTurn();
    } catch (error) {
      this.#refuse(error);
      this.#cancelAnswer();
    }
  }

  #cancelAnswer(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send('{"type":"response.cancel"}');
  }

  #upstreamClosed(close: SocketClose): undefined {
    this.#closed = closeForClient(close, this.#parties.prepared.channel);
    const broken: Ending = { endReason: 'upstream_broken', failure: `closed ${close.code}` };
    void this.#end(this.#left ?? (endedWell(close) ? { endReason: 'completed' } : broken));
    this.#client?.close(this.#closed.code, this.#closed.reason);
  }

  // Whether the caller may continue.

  /** @throws AppError limit_* */
  #admitTurn(): void {
    // The first turn was admitted with the conversation.
    if (this.#admitted++ === 0) return;
    const due = this.#turns.bound();
    const all = promptTokensOf(due) + completionTokensOf(due);
    const spent = Math.max(0, all - this.#counted);
    this.#counted = Math.max(this.#counted, all);
    this.#reservation.turn(spent);
  }

  /** Looks up the key again; a caller who may not continue is rejected. */
  #mayContinue(): boolean {
    const { authorize } = this.#core;
    try {
      this.#principal = authorize.renew(this.#principal, this.#parties.peer);
      authorize.allowModel(this.#principal, this.#reservation.parsed.model);
      allowChannel(this.#principal.token?.channels, this.#parties.prepared.channel.id);
      return true;
    } catch (error) {
      if (isOurs(error)) this.#broke(error);
      else this.#turnAway('rejected', error);
      return false;
    }
  }

  /** Balance that another node holds is fetched before anything is refused or shortened. @returns null also when the conversation ended meanwhile. */
  #afterLease<T>(isAffordable: () => boolean, then: () => T): T | Promise<T | null> {
    if (!this.#reservation.usesLeases || isAffordable()) return then();
    return whenReserved(
      () => this.#isEnding || isAffordable(),
      () => this.#ensureLease(),
    ).then(() => (this.#isEnding ? null : then()));
  }

  /** Pays for what was delivered; later frames wait while balance comes from another node. */
  #waitForBalance(): undefined | Promise<unknown> {
    if (!this.#reservation.usesLeases) return void this.#cut();
    return whenReserved(
      () => this.#turnReservation.delivered(),
      () => this.#ensureLease(),
    ).then((held) => {
      if (!held) this.#cut();
    });
  }

  /** @returns whether any balance came. */
  async #ensureLease(): Promise<boolean> {
    const came = await Promise.all([this.#reservation.ensureLease(), this.#transcripts.ensureLease()]).catch(
      (error: unknown) => {
        this.#core.report(error, this.#reservation.parsed.requestId);
        return [];
      },
    );
    return came.flat().includes(true);
  }

  #exhausted(): AppError {
    return this.#turnReservation.tooLong() ?? new AppError('user_exhausted', shortage(0, 1, this.#core.state.settings));
  }

  // Ends.

  /** Later frames are not sent to the upstream; answers under way are delivered to the bill. */
  #refuseMore(): null {
    this.#turnAway('quota_cut', this.#exhausted());
    return null;
  }

  #turnAway(endReason: EndReason, error: unknown): void {
    if (this.#isEnding) return;
    const code = this.#sendError(error);
    // Before the socket closes, because its closing is an end of another kind.
    this.#leave(endReason, endReason === 'rejected' ? code : undefined);
    this.#client?.close(policyViolation, code);
  }

  /** Ends now: the upstream is not asked for its bill, because only what was delivered can be paid for. */
  #cut(): void {
    if (this.#isEnding) return;
    const code = this.#sendError(this.#exhausted());
    void this.#end({ endReason: 'quota_cut' });
    this.#client?.close(policyViolation, code);
  }

  #stop(reason: unknown): void {
    if (this.#isOver) return;
    const code = this.#sendError(reason);
    void this.#end({ endReason: 'stopped' });
    this.#client?.close(goingAway, code);
  }

  /** The client gets no more. Answers under way are cancelled, or read to their end where the channel says so: their usage is billed. */
  #leave(endReason: EndReason, failure?: string): void {
    if (this.#isEnding) return;
    const ending: Ending = { endReason, ...(failure === undefined ? {} : { failure }) };
    const idle = this.#turns.waiting() === 0;
    if (idle && endReason === 'client_gone') return void this.#end({ endReason: 'completed' });
    if (idle || this.#socket.readyState !== WebSocket.OPEN) return void this.#end(ending);
    this.#left = ending;
    this.#checkpoint();
    const waitMs = Math.max(this.#core.billMs, this.#drainMs);
    this.#leaving = this.#core.deadlines.start(waitMs, () => void this.#end(ending));
    if (this.#drainMs === 0) this.#cancelAnswer();
  }

  /** A defect of ours: what was said is charged, and nothing more is. */
  #broke(error: unknown): void {
    this.#core.report(error, this.#reservation.parsed.requestId);
    if (this.#isOver) return;
    void this.#end({ endReason: 'internal' });
    try {
      this.#sendError(asAppError(error));
    } catch (another) {
      this.#core.report(another, this.#reservation.parsed.requestId);
    }
    this.#client?.close(internalError, 'internal');
  }

  /** The client may go on. */
  #refuse(error: unknown): void {
    if (isOurs(error)) this.#broke(error);
    else this.#sendError(error);
  }

  /** Never rejects. */
  async #end(ending: Ending): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unsubscribe();
    this.#core.running.delete(this.#cuttable);
    this.#leaving?.end();
    this.#socket.close();
    const { requestId } = this.#reservation.parsed;
    await this.#transcripts.finish(ending.endReason).catch((error: unknown) => this.#core.report(error, requestId));
    try {
      await this.#finish(ending);
    } catch (error) {
      this.#core.report(error, requestId);
      await closeUnfinished(this.#core, this.#reservation);
    }
    endOf(this.#core, this.#reservation);
  }

  async #finish({ endReason, failure }: Ending): Promise<void> {
    const usageSource = this.#turns.source();
    await finishRequest(this.#reservation, this.#parties.prepared, {
      endReason,
      usage: await this.#turns.count(),
      usageSource,
      firstByteMs: this.#firstByteMs,
      attempts: this.#parties.attempts,
      ...(failure === undefined ? {} : { failure }),
    });
  }

  /** Writes down the amount that a crash charges: an answer of which the client got nothing is not in it. */
  #checkpoint(): void {
    this.#checkpointedMs = this.#core.now();
    this.#turns.count(false).then(
      (due) => this.#guard(() => this.#isOver || this.#reservation.checkpoint(due, this.#parties.prepared.channel)),
      (error: unknown) => this.#broke(error),
    );
  }

  /** Sends an error event to the client. @returns its code. */
  #sendError(error: unknown): string {
    const { parsed } = this.#reservation;
    const shown = clientError(error, parsed.requestId);
    const { type, code, message } = localizedError(shown, this.#reservation.language());
    const details = { type, code, message, param: null, event_id: null };
    this.#client?.send(JSON.stringify({ type: 'error', event_id: `event_${parsed.requestId}`, error: details }));
    return code;
  }
}
