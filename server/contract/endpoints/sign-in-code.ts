/** What a signed-in user sees and decides of a program that wants to sign in. */
import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { id, nothing, number } from './fields.ts';

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
      /** The name that the machine gives itself. */
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
  endpoint({
    id: 'sign_in.authorize',
    method: 'POST',
    path: '/api/device/authorize',
    access: 'user',
    /** The parameters that the program sent with the browser (RFC 6749, RFC 7636). */
    input: z.object({
      client_id: z.string(),
      redirect_uri: z.string(),
      response_type: z.string(),
      code_challenge: z.string(),
      code_challenge_method: z.string(),
      state: z.string(),
      /** Absent = who asks, and nothing is decided. */
      approve: z.optional(z.boolean()),
    }),
    output: z.object({
      name: z.string(),
      /** The address of the browser. */
      address: z.string(),
      /** Where the browser goes; '' = nothing was decided. */
      redirect: z.string(),
    }),
    summary: {
      zh: '通过浏览器登录的程序：查看、批准或拒绝',
      en: 'Let a program sign in that the browser came from, or not',
    },
  }),
  endpoint({
    id: 'sign_in.list',
    method: 'GET',
    path: '/api/device/',
    access: 'user',
    /** The programs of another user, for administrators; absent = the caller's. */
    input: z.object({ user_id: number }),
    output: z.object({
      /** Whether programs may sign in at the moment. */
      open: z.boolean(),
      items: z.array(
        z.object({
          /** Id of the program's key. */
          id: z.int(),
          name: z.string(),
          client: z.string(),
          /** '' = the machine did not name itself. */
          host: z.string(),
          address: z.string(),
          /** Epoch seconds. */
          created_time: z.int(),
          last_used_time: z.int(),
          /** Quota, since midnight (UTC). */
          spent_today: z.int(),
        }),
      ),
    }),
    summary: { zh: '已登录的程序', en: 'Programs that are signed in' },
  }),
  endpoint({
    id: 'sign_in.end',
    method: 'POST',
    path: '/api/device/end',
    access: 'user',
    /** `id`: of the program's key. */
    input: z.object({ id }),
    output: nothing,
    summary: { zh: '结束程序登录', en: 'Sign a program out' },
  }),
] as const;
