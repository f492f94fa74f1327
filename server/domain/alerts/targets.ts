/** The kinds of alert targets, one row each: its options, and the format that it expects. The formats are those of the services' own documents. */
import { createHmac } from 'node:crypto';
import type { AlertTargetName } from '../../contract/alert-kinds.ts';
import type { Alert, AlertCall, ReadOption } from './alert.ts';

export interface AlertTarget {
  /** null = not configured. */
  readonly call: (get: ReadOption, alert: Alert) => AlertCall | null;
  /** Whether the answer's JSON says that it arrived; absent = the status says it. */
  readonly isAccepted?: (answer: Readonly<Record<string, unknown>>) => boolean;
}

/** Targets that are called over HTTP; mail has a sender of its own. */
export type CalledTarget = Exclude<AlertTargetName, 'mail'>;

const whole = ({ site, title, text }: Alert): string => `[${site}] ${title}\n${text}`;
const hmac = (key: string, text: string) => createHmac('sha256', key).update(text);
/** Longest text that all of them take, in characters. */
const maxLength = 1500;
const short = (text: string): string => (text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`);
/** Slack reads links and mentions in angle brackets. */
const slackText = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const lastPart = (url: URL): string => decodeURIComponent(url.pathname.split('/').filter(Boolean).at(-1) ?? '');

/** A row for those that want a body at an address and nothing else. */
const postTo =
  (
    option: 'alert_setting.slack_url' | 'alert_setting.discord_url' | 'alert_setting.wecom_url',
    bodyOf: (alert: Alert) => object,
  ) =>
  (get: ReadOption, alert: Alert): AlertCall | null => {
    const url = get(option);
    return url === '' ? null : { url, body: JSON.stringify(bodyOf(alert)) };
  };

export const alertTargets: Readonly<Record<CalledTarget, AlertTarget>> = {
  webhook: {
    call(get, { kind, subject, site, title, text, at }) {
      const url = get('alert_setting.webhook_url');
      if (url === '') return null;
      const secret = get('alert_setting.webhook_secret');
      const body = JSON.stringify({ type: 'alert', kind, subject, site, title, content: text, timestamp: at });
      return {
        url,
        body,
        ...(secret === '' ? {} : { headers: { 'x-webhook-signature': hmac(secret, body).digest('hex') } }),
      };
    },
  },
  slack: { call: postTo('alert_setting.slack_url', (alert) => ({ text: slackText(short(whole(alert))) })) },
  discord: {
    call: postTo('alert_setting.discord_url', (alert) => ({
      content: short(whole(alert)),
      allowed_mentions: { parse: [] },
    })),
  },
  feishu: {
    call(get, alert) {
      const url = get('alert_setting.feishu_url');
      if (url === '') return null;
      const secret = get('alert_setting.feishu_secret');
      const timestamp = String(alert.at);
      // Nothing is signed with a key made of time and secret.
      const sign = hmac(`${timestamp}\n${secret}`, '').digest('base64');
      const message = { msg_type: 'text', content: { text: short(whole(alert)) } };
      return { url, body: JSON.stringify(secret === '' ? message : { timestamp, sign, ...message }) };
    },
    isAccepted: ({ code, StatusCode }) => code === 0 || StatusCode === 0,
  },
  dingtalk: {
    call(get, alert) {
      const address = get('alert_setting.dingtalk_url');
      if (address === '') return null;
      const secret = get('alert_setting.dingtalk_secret');
      const url = new URL(address);
      if (secret !== '') {
        const timestamp = String(alert.at * 1000);
        url.searchParams.set('timestamp', timestamp);
        url.searchParams.set('sign', hmac(secret, `${timestamp}\n${secret}`).digest('base64'));
      }
      return { url: url.href, body: JSON.stringify({ msgtype: 'text', text: { content: short(whole(alert)) } }) };
    },
    isAccepted: ({ errcode }) => errcode === 0,
  },
  wecom: {
    call: postTo('alert_setting.wecom_url', (alert) => ({
      msgtype: 'text',
      text: { content: utf8(whole(alert), 2048) },
    })),
    isAccepted: ({ errcode }) => errcode === 0,
  },
  telegram: {
    call(get, alert) {
      const token = get('alert_setting.telegram_token');
      const chat = get('alert_setting.telegram_chat');
      if (token === '' || chat === '') return null;
      return {
        url: `https://api.telegram.org/bot${encodeURIComponent(token).replace('%3A', ':')}/sendMessage`,
        body: JSON.stringify({
          chat_id: chat,
          text: short(whole(alert)),
          link_preview_options: { is_disabled: true },
        }),
      };
    },
    isAccepted: ({ ok }) => ok === true,
  },
  bark: {
    call(get, { site, title, text }) {
      const address = get('alert_setting.bark_url');
      if (address === '') return null;
      const url = new URL(address);
      return {
        url: `${url.origin}/push`,
        body: JSON.stringify({
          device_key: lastPart(url),
          title: `[${site}] ${title}`,
          body: short(text),
          group: site,
        }),
      };
    },
    isAccepted: ({ code }) => code === 200,
  },
  ntfy: {
    call(get, { site, title, text }) {
      const address = get('alert_setting.ntfy_url');
      if (address === '') return null;
      const url = new URL(address);
      const token = get('alert_setting.ntfy_token');
      return {
        // Titles in other scripts cannot stand in a header.
        url: `${url.origin}/`,
        body: JSON.stringify({
          topic: lastPart(url),
          title: `[${site}] ${title}`,
          message: short(text),
          tags: ['warning'],
        }),
        ...(token === '' ? {} : { headers: { authorization: `Bearer ${token}` } }),
      };
    },
  },
};

/** Whole characters of at most so many bytes. */
function utf8(text: string, bytes: number): string {
  const all = new TextEncoder().encode(text);
  return all.length <= bytes ? text : new TextDecoder().decode(all.subarray(0, bytes), { stream: true });
}
