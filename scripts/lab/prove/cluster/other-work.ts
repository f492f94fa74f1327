/** Drawings and conversations beside the chats: what their clients saw is held against what their accounts paid. */
import { realtimeUsage, startRealtimeUpstream } from '../../../../tests/support/realtime-upstream.ts';
import type { Account } from './people.ts';
import type { Random } from './random.ts';
import { unit } from './site.ts';

export const drawingPrice = 0.1;
const quotaPerUnit = 500_000;
export const drawingQuota = drawingPrice * quotaPerUnit;
export const conversationModel = 'gpt-4o-realtime-preview';
const spoken = { input: 200, output: 40 };
const answerQuota = unit * (spoken.input + spoken.output);
const words = 20;
const wordMs = 40;
const timeoutMs = 40_000;

/** Accepts every drawing, and has finished it when it is asked for. */
export function startDrawings() {
  let made = 0;
  const run = `${Date.now()}`;
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const body = (await request.json().catch(() => ({}))) as { ids?: string[] };
      if (request.url.includes('/submit/'))
        return Response.json({ code: 1, description: 'ok', result: `mj-${run}-${++made}` });
      return Response.json((body.ids ?? []).map((id) => ({ id, status: 'SUCCESS', progress: '100%' })));
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

/** Every answer has its words one after the other, and a usage at its end. */
export const startConversations = () =>
  startRealtimeUpstream({
    answer(answer) {
      let said = 0;
      const timer = setInterval(() => {
        if (said++ < words) return answer.print('word ');
        clearInterval(timer);
        answer.done(realtimeUsage(spoken.input, spoken.output));
      }, wordMs);
    },
  });

/** What an account must have paid at least, and may have paid at most. */
export interface Expected {
  readonly account: Account;
  readonly what: string;
  least: number;
  most: number;
  /** How often its client saw something whole. */
  whole: number;
}

const newExpected = (account: Account, what: string): Expected => ({ account, what, least: 0, most: 0, whole: 0 });

export function startOtherWork(url: string, drawer: Account, talkers: readonly Account[], random: Random) {
  let over = false;
  const drawings = newExpected(drawer, 'drawings');
  const talks = talkers.map((account) => newExpected(account, 'conversations'));
  const draw = async () => {
    while (!over) {
      drawings.most += drawingQuota;
      try {
        const response = await fetch(`${url}/mj/submit/imagine`, {
          method: 'POST',
          headers: { authorization: `Bearer ${drawer.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ prompt: `a cat ${random.whole(1, 999)}` }),
          keepalive: false,
          signal: AbortSignal.timeout(timeoutMs),
        });
        const { code } = (await response.json()) as { code?: unknown };
        if (response.status === 200 && code === 1) {
          drawings.least += drawingQuota;
          drawings.whole++;
        } else if (response.status !== 200) drawings.most -= drawingQuota;
      } catch {
        // No answer: it was drawn or it was not.
      }
      await Bun.sleep(random.whole(100, 600));
    }
  };
  /** A kill may come between an answer's last frame and the note of it: the last answer is not counted on. */
  const talk = (expected: Expected): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const address = `${url.replace('http', 'ws')}/v1/realtime?model=${conversationModel}`;
    const socket = new WebSocket(address, ['realtime', `openai-insecure-api-key.${expected.account.key}`]);
    const wanted = random.whole(1, 4);
    let seen = 0;
    const askFor = () => {
      expected.most += answerQuota;
      socket.send('{"type":"response.create"}');
    };
    const timer = setTimeout(() => socket.close(), timeoutMs);
    socket.onmessage = ({ data }) => {
      const { type } = JSON.parse(String(data)) as { type: string };
      if (type === 'session.created') askFor();
      if (type !== 'response.done') return;
      if (seen++ > 0) expected.least += answerQuota;
      expected.whole++;
      if (seen < wanted && !over) askFor();
      else socket.close();
    };
    socket.onerror = () => socket.close();
    socket.onclose = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  };
  const talkOn = async (expected: Expected) => {
    while (!over) {
      await talk(expected);
      await Bun.sleep(random.whole(100, 500));
    }
  };
  const going = [draw(), draw(), ...talks.map(talkOn)];
  return {
    expected: [drawings, ...talks],
    async stop() {
      over = true;
      await Promise.all(going);
    },
  };
}
