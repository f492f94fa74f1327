/** Chat pages of others that are shown inside the console. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';

export const chatEndpoints = [
  endpoint({
    id: 'chat.open',
    method: 'POST',
    path: '/api/chat/:index',
    access: 'user',
    input: z.object({ index: z.coerce.number().check(z.int(), z.gte(0)) }),
    output: z.object({ name: z.string(), url: z.string(), token_name: z.string() }),
    summary: { zh: '打开聊天链接', en: 'Link to a chat page, with a key of its own' },
  }),
] as const;
