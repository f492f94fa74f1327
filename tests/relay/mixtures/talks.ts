/** Conversations: a client that speaks and asks at random, and an upstream that keeps to its limits and bills what it read and wrote. */
import type { ServerWebSocket } from 'bun';
import type { Conversation } from '../../../server/relay/endpoints/realtime/conversation.ts';

type Json = Record<string, unknown>;

/** Tokens, as this upstream counts them. */
const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);
/** Bytes of a second of sound, 8 bits at 8 kHz. */
const rate = 8000;
const maxResponseLength = 4096;

/** Quota a token: the preview model of the price list. */
const price = { text: 2.5, audio: 50, written: 10, spoken: 100, whisper: 15 } as const;

interface Room {
  text: number;
  audio: number;
  knownText: number;
  knownAudio: number;
  buffered: number;
  limit: number;
  audible: boolean;
  listens: boolean;
  writer: boolean;
  answers: number;
  /** Of the answers this room gives. */
  readonly part: number;
  /** What it was sent, word for word. */
  readonly received: string[];
}

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const limitIn = (value: unknown): number => (typeof value === 'number' ? value : maxResponseLength);

export function startTalkUpstream() {
  /** By the marks that conversations carry. */
  const received = new Map<string, string[]>();
  const send = (socket: ServerWebSocket<Room>, event: Json) => void socket.send(JSON.stringify(event));
  const answer = (socket: ServerWebSocket<Room>, requested: Json) => {
    const room = socket.data;
    const id = `resp_${++room.answers}`;
    const own = Object.hasOwn(requested, 'max_output_tokens');
    const limit = Math.min(own ? limitIn(requested.max_output_tokens) : room.limit, maxResponseLength);
    const text = room.text + tokensOf(String(requested.instructions ?? ''));
    const output = Math.floor(limit * room.part) || 1;
    const spoken = room.audible ? Math.ceil(output * 0.8) : 0;
    send(socket, { type: 'response.created', response: { id, status: 'in_progress' } });
    const place = { response_id: id, item_id: `item_${id}`, output_index: 0, content_index: 0 };
    const sound = Math.min(spoken / 20, 0.4) * rate;
    if (spoken > 0)
      send(socket, { type: 'response.output_audio.delta', ...place, delta: Buffer.alloc(sound).toString('base64') });
    const words = 'x'.repeat(Math.min((output - spoken) * 3, 3000));
    const kind = room.audible ? 'response.output_audio_transcript.delta' : 'response.output_text.delta';
    send(socket, { type: kind, ...place, delta: words });
    const cached = { text: Math.min(room.knownText, text), audio: Math.min(room.knownAudio, room.audio) };
    const usage = {
      total_tokens: text + room.audio + output,
      input_tokens: text + room.audio,
      output_tokens: output,
      input_token_details: {
        text_tokens: text,
        audio_tokens: room.audio,
        cached_tokens: cached.text + cached.audio,
        cached_tokens_details: { text_tokens: cached.text, audio_tokens: cached.audio },
      },
      output_token_details: { text_tokens: output - spoken, audio_tokens: spoken },
    };
    room.text += output - spoken;
    room.audio += spoken;
    room.knownText = room.text;
    room.knownAudio = room.audio;
    send(socket, {
      type: 'response.done',
      response: { id, status: 'completed', conversation_id: 'c', output: [], usage },
    });
  };
  const commit = (socket: ServerWebSocket<Room>) => {
    const room = socket.data;
    const item = `heard_${room.answers}`;
    room.audio += Math.ceil(room.buffered * 10);
    send(socket, { type: 'input_audio_buffer.committed', item_id: item });
    if (room.writer)
      send(socket, {
        type: 'conversation.item.input_audio_transcription.completed',
        item_id: item,
        content_index: 0,
        transcript: 'words',
        usage: { type: 'duration', seconds: Math.ceil(room.buffered) },
      });
    room.buffered = 0;
  };
  const configure = (socket: ServerWebSocket<Room>, settings: Json) => {
    const room = socket.data;
    const input = object(object(settings.audio).input);
    if (settings.max_output_tokens !== undefined) room.limit = limitIn(settings.max_output_tokens);
    if (Array.isArray(settings.output_modalities)) room.audible = settings.output_modalities.includes('audio');
    if (input.turn_detection !== undefined) room.listens = input.turn_detection !== null;
    if (input.transcription !== undefined) room.writer = input.transcription !== null;
    if (settings.instructions !== undefined) room.text += tokensOf(String(settings.instructions)) + 4;
    send(socket, { type: 'session.updated', session: sessionOf(room, settings) });
  };
  const sessionOf = (room: Room, settings: Json): Json => ({
    type: 'realtime',
    ...settings,
    max_output_tokens: room.limit,
    audio: {
      input: { format: { type: 'audio/pcmu' }, ...object(object(settings.audio).input) },
      output: { format: { type: 'audio/pcmu' } },
    },
  });
  const server = Bun.serve<Room>({
    port: 0,
    fetch(request, listener) {
      const mark = request.headers.get('openai-beta') ?? '';
      const part = [0, 0.1, 0.5, 1, 1][Number(mark.replace(/\D/g, '')) % 5] ?? 1;
      const data: Room = {
        text: 20,
        audio: 0,
        knownText: 0,
        knownAudio: 0,
        buffered: 0,
        limit: maxResponseLength,
        audible: true,
        listens: true,
        writer: false,
        answers: 0,
        part,
        received: [],
      };
      received.set(mark, data.received);
      return listener.upgrade(request, { data }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open: (socket) => send(socket, { type: 'session.created', session: sessionOf(socket.data, {}) }),
      message(socket, data) {
        const event = JSON.parse(String(data)) as Json;
        const room = socket.data;
        room.received.push(String(data));
        if (event.type === 'session.update') configure(socket, object(event.session));
        else if (event.type === 'conversation.item.create') room.text += tokensOf(JSON.stringify(event.item)) / 2 + 4;
        else if (event.type === 'input_audio_buffer.append') {
          room.buffered += (String(event.audio).length * 3) / 4 / rate;
          // It receives the end of speech.
          if (!room.listens || room.buffered < 2) return;
          commit(socket);
          answer(socket, {});
        } else if (event.type === 'input_audio_buffer.commit') commit(socket);
        else if (event.type === 'response.create') answer(socket, object(event.response));
        room.text = Math.ceil(room.text);
      },
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** @returns the frames of a conversation that is over. */
    took(mark: string): readonly string[] {
      const frames = received.get(mark) ?? [];
      received.delete(mark);
      return frames;
    },
    stop: () => server.stop(true),
  };
}

export interface TalkSum {
  turns: number;
  answered: number;
  shortened: number;
  rejected: number;
  changedForNothing: number;
  rejectedWrongly: number;
}

export interface Client {
  readonly mark: string;
  readonly upstream: ReturnType<typeof startTalkUpstream>;
  /** Quota that is free now. */
  readonly free: () => number;
  readonly sum: TalkSum;
}

/** Quota of a shortest answer to the most that is said in a first turn. */
const leastTurn = 7000 * price.text + 40 * price.audio + 20 * price.spoken + 100 * price.whisper;
/** Quota of all that a conversation says and hears at most. */
const wholeTalk = 4 * (7000 * price.text + maxResponseLength * (price.audio + price.spoken) + 500 * price.whisper);

/** One conversation from hello to goodbye. */
export async function talk(random: () => number, conversation: Conversation, client: Client): Promise<void> {
  const { free, sum } = client;
  const sent = new Set<string>();
  let over = false;
  let wake: () => void = () => undefined;
  let answers = 0;
  /** The free balance when an error was sent; null = none was. */
  let left: number | null = null;
  conversation.open({
    send(data) {
      const event = JSON.parse(String(data)) as Json;
      if (event.type === 'response.done') answers++;
      if (event.type === 'error') left = free();
      wake();
      return 0;
    },
    close() {
      over = true;
      wake();
    },
  });
  const print = (event: Json) => {
    if (over) return;
    const frame = JSON.stringify(event);
    sent.add(frame);
    conversation.message(frame);
  };
  const until = async (done: () => boolean) => {
    const ends = Date.now() + 20_000;
    while (!done() && !over && left === null) {
      if (Date.now() > ends) throw new Error('the conversation stands still');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const listens = random() < 0.4;
  const rich = free() > wholeTalk;
  print({ type: 'session.update', session: sessionWish(random, listens) });
  const sound = Buffer.alloc(rate).toString('base64');
  const turns = 1 + Math.floor(random() * 4);
  for (let turn = 0; turn < turns && !over && left === null; turn++) {
    const before = answers;
    sum.turns++;
    if (listens) for (let second = 0; second < 2; second++) print({ type: 'input_audio_buffer.append', audio: sound });
    else if (random() < 0.5) {
      print({ type: 'input_audio_buffer.append', audio: sound });
      print({ type: 'input_audio_buffer.commit' });
      print({ type: 'response.create' });
    } else {
      const words = 'Some words, 一些字. '.repeat(1 + Math.floor(random() ** 3 * 200));
      const content = [{ type: 'input_text', text: words }];
      print({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
      print({ type: 'response.create', ...(random() < 0.3 ? { response: { max_output_tokens: 200 } } : {}) });
    }
    await until(() => answers > before);
    if (answers > before) sum.answered++;
    else sum.rejected++;
    if (left !== null && turn === 0 && left > leastTurn) sum.rejectedWrongly++;
  }
  conversation.close();
  const changed = client.upstream.took(client.mark).some((frame) => !sent.has(frame));
  if (changed) sum.shortened++;
  if (changed && rich && free() > wholeTalk) sum.changedForNothing++;
}

const sessionWish = (random: () => number, listens: boolean): Json => ({
  type: 'realtime',
  output_modalities: [random() < 0.5 ? 'audio' : 'text'],
  ...(random() < 0.3 ? { instructions: 'Be brief. '.repeat(Math.floor(random() * 100)) } : {}),
  ...(random() < 0.3 ? { max_output_tokens: 1 + Math.floor(random() * maxResponseLength) } : {}),
  audio: {
    input: {
      format: { type: 'audio/pcmu' },
      turn_detection: listens ? { type: 'server_vad' } : null,
      ...(random() < 0.2 ? { transcription: { model: 'whisper-1' } } : {}),
    },
    output: { format: { type: 'audio/pcmu' } },
  },
});
