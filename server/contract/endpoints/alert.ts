/** What operators are alerted about. */
import * as z from 'zod/mini';
import { alertKindNames, alertTargetNames } from '../alert-kinds.ts';
import { endpoint } from '../endpoint.ts';

const none = z.object({});

export const alertEndpoints = [
  endpoint({
    id: 'alert.list',
    method: 'GET',
    path: '/api/alert/',
    access: 'admin',
    input: none,
    output: z.object({
      targets: z.array(z.enum(alertTargetNames)),
      alerts: z.array(
        z.object({
          kind: z.enum(alertKindNames),
          subject: z.string(),
          title: z.string(),
          text: z.string(),
          /** Epoch seconds of the last notification; 0 = none yet. */
          told_at: z.int(),
        }),
      ),
    }),
    summary: { zh: '当前告警', en: 'Open alerts and their recipients' },
  }),
  endpoint({
    id: 'alert.test',
    method: 'POST',
    path: '/api/alert/test',
    access: 'root',
    input: none,
    output: z.array(z.object({ target: z.enum(alertTargetNames), ok: z.boolean(), message: z.string() })),
    summary: { zh: '发送测试告警', en: 'Send a test to every target' },
  }),
  endpoint({
    id: 'alert.mail_test',
    method: 'POST',
    path: '/api/alert/mail',
    access: 'root',
    input: none,
    /** `to` is the caller's address, or the sender's where the caller has none; `message` is what the mail server said. */
    output: z.object({ to: z.string(), ok: z.boolean(), message: z.string() }),
    summary: { zh: '发送测试邮件', en: 'Send a test email to oneself' },
  }),
] as const;
