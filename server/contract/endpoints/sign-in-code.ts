/** What a signed-in user sees and decides of a program that wants to sign in. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { nothing } from './fields.ts';

export const signInCodeEndpoints = [
  endpoint({
    id: 'sign_in.look',
    method: 'POST',
    path: '/api/device/look',
    access: 'user',
    /** The code that the program shows, in any case, with or without its dash. */
    input: z.object({ code: z.string() }),
    output: z.object({
      client: z.string(),
      name: z.string(),
      /** As the machine names itself. */
      host: z.string(),
      address: z.string(),
      /** Epoch seconds. */
      until: z.int(),
    }),
    summary: { zh: '查看请求登录的程序', en: 'The program that asks to sign in' },
  }),
  endpoint({
    id: 'sign_in.decide',
    method: 'POST',
    path: '/api/device/decide',
    access: 'user',
    input: z.object({ code: z.string(), approve: z.boolean() }),
    output: nothing,
    summary: { zh: '批准或拒绝程序登录', en: 'Let a program sign in, or not' },
  }),
] as const;
