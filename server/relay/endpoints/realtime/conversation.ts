/** One conversation over two sockets: frames pass untouched, what they cost is held ahead, and whoever may not go on is told so. */
import type { EndReason } from '../../../contract/enum.ts';
import { AppError } from '../../../contract/errors.ts';
import { completionTokensOf, promptTokensOf } from '../../../contract/pricing/charge.ts';
import { type Json, parseJson, record, text } from '../../../protocols/shared/json.ts';
import { checkWords } from '../../admission/blocked-words.ts';
import type { TokenCounter } from '../../admission/counting/counter.ts';
import { whenHeld } from '../../admission/lease-client.ts';
import type { Reservation } from '../../admission/reservation.ts';
import { finishRequest } from '../../delivery/settle.ts';
import type { Authorize } from '../../intake/authorize.ts';
import type { Peer, Principal } from '../../intake/parsed-request.ts';
import { readPrompt } from '../../intake/prompt.ts';
import type { Deadline, Deadlines } from '../../shared/deadline.ts';
import type { AttemptSummary } from '../../shared/failure.ts';
import { shortage } from '../../shared/quota-numbers.ts';
import { clientError, localizedFor } from '../../shared/render-error.ts';
import type { RelayState } from '../../state/state.ts';
import { type Cuttable, drainOf } from '../../upstream/client-disconnect.ts';
import type { Line } from '../../upstream/line.ts';
import type { Prepared } from '../../upstream/prepare.ts';
import { limitedAnswer, modelsIn, readFrame, withModel } from './client-event.ts';
import { createTranscripts } from './transcript.ts';
import { createTurnReservation } from './turn-reserve.ts';
import { createTurns, withoutSound } from './turns.ts';
import { createTurnstile } from './turnstile.ts';
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
  close(): void;
}

/** What conversations need of the relay. */
export interface ConversationCore {
  readonly authorize: Authorize;
  readonly counter: TokenCounter;
  readonly state: Pick<RelayState, 'onUpdate' | 'settings'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly conversationDeadlines: Deadlines;
  /** Milliseconds between durable notes of what is owed. */
  readonly checkpointMs: number;
  /** Milliseconds that the end of an answer is waited for when the client has left. */
  readonly billMs: number;
  /** What can be ended from outside. */
  readonly running: Set<Cuttable>;
}

export interface Parties {
  readonly reservation: Reservation;
  readonly principal: Principal;
  readonly peer: Peer;
  readonly protocol: string;
  readonly line: Line;
  readonly prepared: Prepared;
  /** In order. */
  readonly attempts: readonly AttemptSummary[];
  /** Opens a bill for a model that writes down what is said. */
  readonly reserve: (principal: Principal, model: string) => Reservation | Promise<Reservation>;
}

type Frame = string | Uint8Array;

const refusal = 1008;
const goingAway = 1001;

export function converse(core: ConversationCore, parties: Parties): Conversation {
  const { reservation: charge, prepared, peer } = parties;
  const { channel, upstreamModel } = prepared;
  const { socket, greeting } = parties.line;
  const { plan, parsed } = charge;
  const turns = createTurns(core.counter, parsed.model, core.now);
  const transcripts = createTranscripts((model) => parties.reserve(principal, model), channel);
  const { session } = turns;
  const reserve = createTurnReservation(charge, plan.prices, turns, transcripts.otherUsage);
  const drainMs = drainOf(channel);
  /** What the upstream says before the client's socket is ready. */
  const early: Frame[] = [];
  let principal = parties.principal;
  let client: ClientSocket | null = null;
  let firstByteMs: number | null = null;
  let checkedMs = core.now();
  let startedOf = 0;
  /** Tokens that the rate windows know of. */
  let counted = 0;
  /** Answers the client asked for, which were let in already. */
  let letIn = 0;
  let left: { readonly endReason: EndReason; readonly failure?: string } | null = null;
  let waiting: Deadline | null = null;
  let over = false;
  /** Either side waits by itself for money from another machine. */
  const [clientSide, upstreamSide] = [createTurnstile(), createTurnstile()];
  /** @returns whether any money came. */
  const lent = async (): Promise<boolean> => {
    const came = await Promise.all([charge.borrow(), transcripts.borrow()]).catch(() => []);
    return came.flat().includes(true);
  };
  /** What lies on another machine is fetched before anything is refused or made shorter. @returns null also where nobody waits for it any more. */
  const afterLoan = <T>(carries: () => boolean, then: () => T): T | Promise<T | null> => {
    if (!charge.borrows || carries()) return then();
    const isEnding = () => over || left !== null;
    return whenHeld(() => isEnding() || carries(), lent).then(() => (isEnding() ? null : then()));
  };

  const end = async (endReason: EndReason, failure?: string) => {
    if (over) return;
    over = true;
    unsubscribe();
    core.running.delete(cuttable);
    waiting?.end();
    socket.close();
    await transcripts.finish(endReason);
    const usageSource = turns.source();
    await finishRequest(charge, prepared, {
      endReason,
      usage: await turns.count(),
      usageSource,
      firstByteMs,
      attempts: parties.attempts,
      ...(failure === undefined ? {} : { failure }),
    });
    charge.owner?.over();
  };
  const note = async () => {
    checkedMs = core.now();
    const due = await turns.count();
    if (!over) charge.checkpoint(due, channel);
  };
  const cancelAnswer = () => {
    if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"response.cancel"}');
  };
  /** The client is gone; answers under way are ended, or read on where the channel asks for it, for the sake of their bill. */
  const leave = (endReason: EndReason, failure?: string) => {
    if (over || left !== null) return;
    if (turns.waiting() === 0 || socket.readyState !== WebSocket.OPEN)
      return void end(endReason === 'client_gone' && turns.waiting() === 0 ? 'completed' : endReason, failure);
    left = { endReason, ...(failure === undefined ? {} : { failure }) };
    void note();
    waiting = core.conversationDeadlines.start(Math.max(core.billMs, drainMs), () => void end(endReason, failure));
    if (drainMs === 0) cancelAnswer();
  };
  /** @returns the code of what the client was told. */
  const errorEvent = (error: unknown): string => {
    const { type, code, message } = localizedFor(parsed.request, clientError(error, parsed.requestId));
    const details = { type, code, message, param: null, event_id: null };
    client?.send(JSON.stringify({ type: 'error', event_id: `event_${parsed.requestId}`, error: details }));
    return code;
  };
  const showOut = (error: unknown) => {
    if (over || left !== null) return;
    const code = errorEvent(error);
    // Before the socket closes, for its closing is an end of another kind.
    leave('rejected', code);
    client?.close(refusal, code);
  };
  const exhausted = () => new AppError('user_exhausted', shortage(0, 1, core.state.settings));
  /** The upstream is not asked for its bill: only what was delivered can be paid for. */
  const cut = () => {
    if (over || left !== null) return;
    const code = errorEvent(exhausted());
    void end('quota_cut');
    client?.close(refusal, code);
  };
  /** What comes next is not carried; what was asked for before is, and so is its bill. */
  const goNoFurther = (): null => {
    if (over || left !== null) return null;
    const code = errorEvent(exhausted());
    leave('quota_cut');
    client?.close(refusal, code);
    return null;
  };
  const cuttable: Cuttable = {
    cut(reason) {
      if (over) return;
      const code = errorEvent(reason);
      void end('stopped');
      client?.close(goingAway, code);
    },
  };
  core.running.add(cuttable);
  /** @throws AppError when the caller may not go on. */
  const renew = () => {
    principal = core.authorize.renew(principal, peer);
    core.authorize.allowModel(principal, parsed.model);
  };
  const mayStay = (): boolean => {
    try {
      renew();
      return true;
    } catch (error) {
      showOut(error);
      return false;
    }
  };
  const unsubscribe = core.state.onUpdate(() => void mayStay());

  /** @throws AppError limit_* */
  const letTurnIn = () => {
    // The first turn is what the conversation was admitted for.
    if (startedOf++ === 0) return;
    const due = turns.bound();
    const all = promptTokensOf(due) + completionTokensOf(due);
    const spent = Math.max(0, all - counted);
    counted = Math.max(counted, all);
    charge.turn(spent);
  };
  /** An answer begins that nobody was asked about: the upstream heard that somebody stopped speaking. */
  const begins = () => {
    if (letIn > 0) {
      letIn--;
      return;
    }
    if (!mayStay()) return;
    try {
      letTurnIn();
    } catch (error) {
      errorEvent(error);
      cancelAnswer();
    }
  };

  const received = (event: Json) => {
    turns.received(event);
    const { type } = event;
    if (type === 'response.created') {
      if (left === null) begins();
      else if (drainMs === 0) cancelAnswer();
    }
    if (type === 'conversation.item.input_audio_transcription.completed') {
      const transcribed = transcribedIn(event);
      const rest = transcribed === null ? null : transcripts.take(session.transcriber(), transcribed);
      if (rest === false) cut();
      else if (rest !== null) turns.add(rest);
    }
  };
  /** Only what costs something, or says what it costs, needs to be looked at. */
  const matters =
    /"(?:response\.|session\.|error"|input_audio_buffer\.|conversation\.item\.input_audio_transcription\.)/;

  const fromUpstream = (data: Frame): undefined | Promise<unknown> => {
    if (over) return;
    firstByteMs ??= core.now();
    const event = typeof data === 'string' && matters.test(data) ? record(parseJson(data)) : null;
    if (event !== null) received(event);
    if (over) return;
    if (left === null) {
      if (client === null) early.push(data);
      else client.send(data);
    } else if (turns.waiting() === 0) return void end(left.endReason, left.failure);
    if (event === null || left !== null) return;
    if (!reserve.delivered()) return withhold();
    const turnEnds = event.type === 'response.created' || event.type === 'response.done';
    if (turnEnds || core.now() - checkedMs >= core.checkpointMs) void note();
  };

  /** What was delivered is paid for, and what comes next waits, while money comes from another machine. */
  const withhold = (): undefined | Promise<unknown> => {
    if (!charge.borrows) return void cut();
    return whenHeld(() => reserve.delivered(), lent).then((held) => {
      if (!held) cut();
    });
  };

  /** Whoever writes down what is said can be paid for. */
  const written = (): boolean => {
    const writer = session.transcriber();
    return writer === null || transcripts.expect(writer, turns.committedAudio());
  };
  /** Sound goes on when it can be paid for, with whatever answers it. */
  const accepts = (fresh: boolean): boolean => {
    if (!written()) return false;
    const limit = reserve.update(fresh);
    if (limit === null) return false;
    if (limit > 0 && socket.readyState === WebSocket.OPEN)
      socket.send(
        JSON.stringify({ type: 'session.update', session: { ...session.kind(), ...session.limited(limit) } }),
      );
    return true;
  };
  const forwardUpstreamEvent = (event: Json, data: Frame): Frame | null | Promise<Frame | null> => {
    const fresh = turns.committedAudio().pending === 0;
    turns.sent(event);
    const carries = () => [written(), reserve.carriesSpeech()].every((is) => is);
    return afterLoan(carries, () => (accepts(fresh) ? data : goNoFurther()));
  };
  /** @returns the frame that goes to the upstream, null = none. @throws AppError what the client is told. */
  const fromClient = (data: Frame): Frame | null | Promise<Frame | null> => {
    const event = readFrame(data);
    const { speaking, writing } = modelsIn(event);
    for (const model of speaking)
      if (model !== parsed.model) throw new AppError('realtime_model_fixed', { model: String(model) });
    for (const model of writing) core.authorize.allowModel(principal, String(model));
    const type = text(event.type);
    const settings = core.state.settings;
    if (settings.blockedWords.length > 0 && type !== 'input_audio_buffer.append')
      checkWords(settings, readPrompt({ ...event, item: withoutSound(event.item) }));
    if (type === 'input_audio_buffer.append') return forwardUpstreamEvent(event, data);
    if (type === 'response.create') {
      if (!mayStay()) return null;
      letTurnIn();
    }
    turns.sent(event);
    const named = speaking.length > 0 && upstreamModel !== parsed.model ? withModel(event, upstreamModel) : null;
    if (type !== 'response.create') return named === null ? data : JSON.stringify(named);
    const response = record(event.response);
    return afterLoan(
      () => reserve.carriesAnswer(response),
      () => {
        const held = reserve.ask(response);
        if (held === null) return goNoFurther();
        letIn++;
        if (held.shorter) return JSON.stringify(limitedAnswer(named ?? event, session.limited(held.limit)));
        return named === null ? data : JSON.stringify(named);
      },
    );
  };
  const forward = (frame: Frame | null): void => {
    if (frame === null || over || left !== null || socket.readyState !== WebSocket.OPEN) return;
    socket.send(typeof frame === 'string' ? frame : new Uint8Array(frame));
  };
  const passOn = (data: Frame): undefined | Promise<unknown> => {
    if (over || left !== null) return;
    try {
      const frame = fromClient(data);
      if (frame instanceof Promise) return frame.then(forward, errorEvent);
      forward(frame);
    } catch (error) {
      errorEvent(error);
    }
  };

  const take = (data: string | ArrayBuffer) =>
    upstreamSide(() => fromUpstream(typeof data === 'string' ? data : new Uint8Array(data)));
  for (const data of greeting) take(data);
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => take(data);
  const closed = (code: number): undefined => {
    const ending = left ?? { endReason: code === 1000 ? 'completed' : 'upstream_broken' };
    void end(ending.endReason, ending.failure);
    client?.close(code === 1000 ? 1000 : 1011);
  };
  socket.addEventListener('close', ({ code }) => upstreamSide(() => closed(code)));
  return {
    protocol: parties.protocol,
    open(ready) {
      // Shown out before the door was open.
      if (over || left !== null) return ready.close(refusal);
      client = ready;
      for (const data of early.splice(0)) ready.send(data);
    },
    message: (data) => clientSide(() => passOn(data)),
    close: () => leave('client_gone'),
  };
}
