/** A strict upstream for conversations, written after OpenAI's published schemas: what it does not know it refuses, every answer has its whole life. */
import type { ServerWebSocket } from 'bun';

type Json = Record<string, unknown>;

/** One answer under way. */
export interface Answer {
  readonly id: string;
  /** The `response` of the event that asked for it. */
  readonly requested: Json;
  print(words: string): void;
  speak(sound: Uint8Array, transcript?: string): void;
  call(json: string): void;
  /** @param usage null = none is told. */
  done(usage: Json | null, status?: string): void;
}

export interface RealtimeScript {
  answer(answer: Answer): void;
  /** The client wants no more; by default it is over, as cancelled, with this usage. */
  readonly cancelled?: Json | null;
}

const known = new Set([
  'session.update',
  'transcription_session.update',
  'conversation.item.create',
  'conversation.item.delete',
  'conversation.item.retrieve',
  'conversation.item.truncate',
  'input_audio_buffer.append',
  'input_audio_buffer.clear',
  'input_audio_buffer.commit',
  'output_audio_buffer.clear',
  'response.cancel',
  'response.create',
]);

/** What the account of the upstream has left. */
const accountLimit = { name: 'tokens', limit: 50_000, remaining: 49_950, reset_seconds: 0.06 };

export function startRealtimeUpstream(script: RealtimeScript) {
  /** Events of the client, in order. */
  const received: Json[] = [];
  const seen: Request[] = [];
  const current = { script };
  const sockets = new Set<ServerWebSocket<undefined>>();
  let events = 0;
  let answers = 0;

  const send = (socket: ServerWebSocket<undefined>, event: Json) =>
    void socket.send(JSON.stringify({ event_id: `event_${++events}`, ...event }));
  const begin = (socket: ServerWebSocket<undefined>, requested: Json) => {
    const id = `resp_${++answers}`;
    const item = `item_${answers}`;
    const place = { response_id: id, item_id: item, output_index: 0, content_index: 0 };
    const texts: string[] = [];
    let over = false;
    const response = (status: string, usage: Json | null): Json => ({
      object: 'realtime.response',
      id,
      status,
      status_details: status === 'completed' ? null : { type: status },
      output: [{ id: item, object: 'realtime.item', type: 'message', status, role: 'assistant', content: [] }],
      conversation_id: requested.conversation === 'none' ? null : 'conv_1',
      output_modalities: ['audio'],
      max_output_tokens: 'inf',
      usage,
      metadata: null,
    });
    const answer: Answer = {
      id,
      requested,
      print(words) {
        texts.push(words);
        send(socket, { type: 'response.output_text.delta', ...place, delta: words });
      },
      speak(sound, transcript) {
        const delta = Buffer.from(sound).toString('base64');
        send(socket, { type: 'response.output_audio.delta', ...place, delta });
        if (transcript !== undefined)
          send(socket, { type: 'response.output_audio_transcript.delta', ...place, delta: transcript });
      },
      call: (json) =>
        send(socket, { type: 'response.function_call_arguments.delta', ...place, call_id: 'call_1', delta: json }),
      done(usage, status = 'completed') {
        if (over) return;
        over = true;
        open.delete(answer);
        if (texts.length > 0) send(socket, { type: 'response.output_text.done', ...place, text: texts.join('') });
        send(socket, { type: 'response.done', response: response(status, usage) });
      },
    };
    open.add(answer);
    send(socket, { type: 'response.created', response: { ...response('in_progress', null), output: [] } });
    send(socket, { type: 'rate_limits.updated', rate_limits: [accountLimit] });
    current.script.answer(answer);
  };
  const open = new Set<Answer>();

  const take = (socket: ServerWebSocket<undefined>, event: Json) => {
    received.push(event);
    const type = String(event.type);
    if (!known.has(type)) {
      const error = {
        type: 'invalid_request_error',
        code: 'invalid_value',
        message: `Invalid value: '${type}'`,
        param: 'type',
      };
      return send(socket, { type: 'error', error: { ...error, event_id: event.event_id ?? null } });
    }
    switch (type) {
      case 'session.update':
        return send(socket, {
          type: 'session.updated',
          session: { object: 'realtime.session', ...(event.session as Json) },
        });
      case 'transcription_session.update':
        return send(socket, { type: 'transcription_session.updated', session: event.session });
      case 'conversation.item.create':
        return send(socket, { type: 'conversation.item.added', previous_item_id: null, item: event.item });
      case 'input_audio_buffer.commit':
        return send(socket, { type: 'input_audio_buffer.committed', previous_item_id: null, item_id: 'item_heard' });
      case 'response.cancel':
        for (const answer of open) answer.done(current.script.cancelled ?? null, 'cancelled');
        return;
      case 'response.create':
        return begin(socket, (event.response as Json | undefined) ?? {});
    }
  };

  const server = Bun.serve<undefined>({
    port: 0,
    fetch(request, listener) {
      seen.push(request);
      return listener.upgrade(request, { data: undefined }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open(socket) {
        sockets.add(socket);
        const audio = {
          input: { format: { type: 'audio/pcm', rate: 24000 } },
          output: { format: { type: 'audio/pcm', rate: 24000 } },
        };
        send(socket, {
          type: 'session.created',
          session: { type: 'realtime', object: 'realtime.session', id: 'sess_1', model: 'upstream', audio },
        });
      },
      message: (socket, data) => take(socket, JSON.parse(String(data)) as Json),
      close: (socket) => void sockets.delete(socket),
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    received,
    seen,
    script(next: RealtimeScript) {
      current.script = next;
    },
    /** An event nobody asked for. */
    send(event: Json) {
      for (const socket of sockets) send(socket, event);
    },
    /** An answer nobody asked for: the upstream heard that somebody stopped speaking. */
    answerUnasked() {
      for (const socket of sockets) begin(socket, {});
    },
    connected: () => sockets.size,
    stop: () => server.stop(true),
  };
}

export const realtimeUsage = (
  input: number,
  output: number,
  details: { received?: number; spoken?: number } = {},
): Json => ({
  total_tokens: input + output,
  input_tokens: input,
  output_tokens: output,
  input_token_details: {
    text_tokens: input - (details.received ?? 0),
    audio_tokens: details.received ?? 0,
    image_tokens: 0,
    cached_tokens: 0,
    cached_tokens_details: { text_tokens: 0, audio_tokens: 0, image_tokens: 0 },
  },
  output_token_details: { text_tokens: output - (details.spoken ?? 0), audio_tokens: details.spoken ?? 0 },
});
