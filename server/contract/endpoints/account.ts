/** Registration, e-mail addresses, lost passwords, and a user's own settings. */

import * as z from 'zod/mini';
import { endpoint } from '../endpoint.ts';
import { languageCodes } from '../languages/index.ts';
import { nothing, number, text, toggle } from './fields.ts';

const proof = z.object({ email: text, code: text });

export const accountEndpoints = [
  endpoint({
    id: 'account.register',
    method: 'POST',
    path: '/api/user/register',
    access: 'public',
    input: z.object({
      username: text,
      password: text,
      password2: text,
      email: text,
      verification_code: text,
      aff_code: text,
    }),
    output: nothing,
    summary: { zh: '注册', en: 'Sign up' },
    botCheck: true,
  }),
  endpoint({
    id: 'account.send_code',
    method: 'GET',
    path: '/api/verification',
    access: 'public',
    input: z.object({ email: text }),
    output: nothing,
    summary: { zh: '发送邮箱验证码', en: 'Email a verification code' },
    mutation: true,
    botCheck: true,
  }),
  endpoint({
    id: 'account.ask_reset',
    method: 'GET',
    path: '/api/reset_password',
    access: 'public',
    input: z.object({ email: text }),
    output: nothing,
    summary: { zh: '发送密码重置邮件', en: 'Email a link that resets the password' },
    mutation: true,
    botCheck: true,
  }),
  endpoint({
    id: 'account.reset',
    method: 'POST',
    path: '/api/user/reset',
    access: 'public',
    input: z.object({ email: text, token: text, password: text }),
    output: z.string(),
    summary: { zh: '重置密码', en: 'Reset a password; returns the new one' },
  }),
  endpoint({
    id: 'account.bind_email',
    method: 'GET',
    path: '/api/oauth/email/bind',
    access: 'user',
    input: proof,
    output: nothing,
    summary: { zh: '绑定邮箱', en: 'Connect an email address' },
    mutation: true,
  }),
  endpoint({
    id: 'account.bind_email_post',
    method: 'POST',
    path: '/api/oauth/email/bind',
    access: 'user',
    input: proof,
    output: nothing,
    summary: { zh: '绑定邮箱', en: 'Connect an email address' },
  }),
  endpoint({
    id: 'account.setting',
    method: 'PUT',
    path: '/api/user/setting',
    access: 'user',
    input: z.object({
      notify_type: text,
      quota_warning_threshold: number,
      webhook_url: text,
      webhook_secret: text,
      notification_email: text,
      /** Mailed to a `notification_email` that is new and not the account's own (`account.send_code`); administrators need none. */
      verification_code: text,
      accept_unset_model_ratio_model: toggle,
      language: z.optional(z.enum(languageCodes)),
    }),
    output: nothing,
    summary: { zh: '修改个人设置', en: 'Change own settings' },
    done: { zh: '设置已更新', en: 'Settings saved' },
  }),
] as const;
