/** Zhipu: keys `id.secret` sign a short-lived token; other keys are sent as they are. The third version's paths are served by the fourth. */
import { present } from '../../protocols/shared/json.ts';
import { type Adapter, type AuthInput, type Outgoing, within } from '../adapter.ts';
import { hs256 } from '../signing/jwt.ts';

const lifetimeMs = 3_600_000;

async function zhipuToken(key: string, nowMs: number): Promise<string> {
  const [id, secret, ...more] = key.split('.');
  if (id === undefined || secret === undefined || more.length > 0) return key;
  return hs256({ sign_type: 'SIGN' }, { api_key: id, exp: nowMs + lifetimeMs, timestamp: nowMs }, secret);
}

const auth = async (request: Outgoing, { key, nowMs }: AuthInput): Promise<Outgoing> => ({
  ...request,
  // Its second dialect takes keys as they are.
  headers: {
    ...request.headers,
    authorization: `Bearer ${request.url.includes('/anthropic/') ? key : await zhipuToken(key, nowMs)}`,
  },
});

export const zhipu: Adapter = {
  body: () => ({
    members: (body) => present({ top_p: within(body.top_p, 0.01, 0.99), temperature: within(body.temperature, 0, 1) }),
  }),
  auth,
};
