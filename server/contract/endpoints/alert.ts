/** What operators are alerted about. */
import * as z from 'zod/mini';
import { alertKindNames, alertTargetNames } from '../alert-kinds.ts';
import { type RuleOption, ruleOptions } from '../alert-rules.ts';
import { endpoint } from '../endpoint.ts';

const none = z.object({});
const triedValue = z.optional(z.string().check(z.maxLength(20)));
const tried = Object.fromEntries(ruleOptions.map((name) => [name, triedValue])) as Record<
  RuleOption,
  typeof triedValue
>;

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
    id: 'alert.rules',
    method: 'GET',
    path: '/api/alert/rules',
    access: 'admin',
    input: none,
    output: z.object({
      targets: z.array(z.enum(alertTargetNames)),
      rules: z.array(
        z.object({
          kind: z.enum(alertKindNames),
          label: z.string(),
          /** With its values. */
          sentence: z.string(),
          muted: z.boolean(),
          /** Neither muted nor switched off by a value of zero. */
          on: z.boolean(),
          /** `stored`: a preview computes the last seven days; `now`: what it looks at is not kept. */
          past: z.enum(['stored', 'now']),
          /** By the names of their options behind `alert_setting.`. */
          values: z.record(z.string(), z.string()),
        }),
      ),
    }),
    summary: { zh: '告警规则', en: 'Alert rules as sentences' },
  }),
  endpoint({
    id: 'alert.preview',
    method: 'GET',
    path: '/api/alert/preview',
    access: 'admin',
    /** Besides: values to try in place of those that hold. */
    input: z.object({ kind: z.enum(alertKindNames), ...tried }),
    output: z.object({
      kind: z.enum(alertKindNames),
      /** Epoch seconds. */
      from: z.int(),
      to: z.int(),
      past: z.enum(['stored', 'now']),
      /** Before this second hours were looked at in place of shorter windows; 0 = nowhere. */
      coarse_until: z.int(),
      count: z.int(),
      /** How many on each of the seven days, the earliest first. */
      days: z.array(z.int()),
      /** The latest first, at most a hundred. */
      alerts: z.array(z.object({ at: z.int(), subject: z.string(), text: z.string() })),
    }),
    summary: { zh: '告警规则在过去七天的预览', en: 'What a rule would have said in seven days' },
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
