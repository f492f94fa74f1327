/** One running gateway for a document's clauses: callers of every role, an upstream, and short ways to ask. */
import { expect } from 'vitest';
import type { Mail } from '../../server/domain/notifications/mailer.ts';
import { createApiFixture, type Headers } from '../support/api.ts';
import { sendJson, startUpstream } from '../support/upstream.ts';

export type Json = Record<string, unknown>;

export async function createSpecFixture() {
  const letters: Mail[] = [];
  const api = await createApiFixture({}, { channelTests: true, sendMail: async (mail) => void letters.push(mail) });
  const upstream = await startUpstream((response, { path }) =>
    sendJson(
      response,
      path.endsWith('/models')
        ? { data: [{ id: 'b' }, { id: 'a' }] }
        : {
            choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
          },
    ),
  );
  const root = await api.addUser('root', 100);
  const admin = await api.addUser('admin', 10);
  const plain = await api.addUser('plain', 1);
  const ask = async (method: string, path: string, body?: unknown, as: Headers = root.headers) =>
    (await api.send(method, path, body, { 'accept-language': 'zh', ...as })).body as Json & {
      success?: boolean;
      message?: string;
      data?: unknown;
    };
  const works = async (method: string, path: string, body?: unknown, as: Headers = root.headers): Promise<unknown> => {
    const answer = await ask(method, path, body, as);
    expect([method, path, answer.message, answer.success]).toEqual([method, path, answer.message, true]);
    return answer.data;
  };
  return {
    api,
    upstream,
    letters,
    root,
    admin,
    plain,
    ask,
    works,
    record: async (method: string, path: string, body?: unknown, as: Headers = root.headers) =>
      (await works(method, path, body, as)) as Json & { id: number },
    list: async (path: string, as: Headers = root.headers) => (await works('GET', path, undefined, as)) as Json[],
    says: async (message: string, method: string, path: string, body?: unknown, as: Headers = root.headers) =>
      expect(await ask(method, path, body, as)).toMatchObject({ success: false, message }),
    set: (key: string, value: string) => works('PUT', '/api/option/', { key, value }),
    async optionOf(key: string): Promise<unknown> {
      const rows = (await works('GET', '/api/option/')) as { key: string; value: string }[];
      return rows.find((row) => row.key === key)?.value;
    },
    async close() {
      await api.close();
      await upstream.stop();
    },
  };
}

export type SpecFixture = Awaited<ReturnType<typeof createSpecFixture>>;
