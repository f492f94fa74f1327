/** The public settings of the site, stored under the keys that consoles of this family share. */

import type { User } from '../../server/contract/entities.ts';
import { call } from './api.ts';
import { basePath, siteAddress, storedName } from './base-path.ts';
import { currentLanguage } from './i18n.ts';
import { useOptionalRead } from './read.ts';

export interface Status {
  readonly system_name?: string;
  readonly quota_per_unit?: number;
  readonly display_in_currency?: boolean;
  readonly logo?: string;
  /** Markdown. */
  readonly home_text?: string;
  readonly footer_html?: string;
  readonly version?: string;
  /** Epoch seconds. */
  readonly start_time?: number;
  /** Sent to administrators only. */
  readonly storage?: { readonly ok: boolean; readonly reason: string; readonly late: number; readonly refused: number };
  /** Sent to administrators only. */
  readonly several_nodes?: boolean;
  readonly setup?: boolean;
  readonly self_use_mode_enabled?: boolean;
  readonly demo_site_enabled?: boolean;
  readonly default_collapse_sidebar?: boolean;
  readonly enable_data_export?: boolean;
  readonly data_export_default_time?: string;
  readonly mj_notify_enabled?: boolean;
  readonly enable_drawing?: boolean;
  readonly enable_task?: boolean;
  readonly register_enabled?: boolean;
  readonly invitation_required?: boolean;
  readonly password_register_enabled?: boolean;
  readonly password_login_enabled?: boolean;
  readonly server_address?: string;
  readonly email_verification?: boolean;
  readonly turnstile_check?: boolean;
  readonly turnstile_site_key?: string;
  readonly github_oauth?: boolean;
  readonly github_client_id?: string;
  readonly oidc_enabled?: boolean;
  readonly oidc_client_id?: string;
  readonly oidc_authorization_endpoint?: string;
  readonly linuxdo_oauth?: boolean;
  readonly linuxdo_client_id?: string;
  readonly wechat_login?: boolean;
  readonly wechat_qrcode?: string;
  readonly telegram_oauth?: boolean;
  readonly telegram_bot_name?: string;
  readonly telegram_bot_id?: string;
  readonly checklist_enabled?: boolean;
  readonly docs_link?: string;
  readonly top_up_link?: string;
  readonly min_topup?: number;
  readonly enable_online_topup?: boolean;
  readonly enable_stripe_topup?: boolean;
  /** JSON: a list of one-entry objects, name to link. */
  readonly chats?: string | readonly Readonly<Record<string, string>>[];
}

const storedKeys = [
  'system_name',
  'logo',
  'footer_html',
  'quota_per_unit',
  'display_in_currency',
  'enable_drawing',
  'enable_task',
  'enable_data_export',
  'chats',
  'data_export_default_time',
  'mj_notify_enabled',
  'docs_link',
  'server_address',
  'top_up_link',
  'min_topup',
  'enable_online_topup',
];

async function load(): Promise<Status> {
  const status = (await call('status.get')) as Status & Readonly<Record<string, unknown>>;
  localStorage.setItem(storedName('status'), JSON.stringify(status));
  for (const key of storedKeys) {
    const value = status[key];
    if (value === undefined || value === null || value === '') localStorage.removeItem(storedName(key));
    else localStorage.setItem(storedName(key), typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return status;
}

export const statusQuery = { queryKey: ['status'], queryFn: load, staleTime: 60_000 } as const;
export const useStatus = () => useOptionalRead(statusQuery);

export interface ChatLink {
  readonly name: string;
  readonly url: string;
}

/** @returns null when the saved chats cannot be read. */
export function chatLinks(status: Status | undefined): readonly ChatLink[] | null {
  const saved = status?.chats ?? '[]';
  try {
    const list: unknown = typeof saved === 'string' ? JSON.parse(saved === '' ? '[]' : saved) : saved;
    if (!Array.isArray(list)) return null;
    return list.flatMap((entry: unknown) =>
      typeof entry === 'object' && entry !== null
        ? Object.entries(entry).map(([name, url]) => ({ name, url: String(url) }))
        : [],
    );
  } catch {
    return null;
  }
}

/** Where clients send requests: the site's own address where it is set, else the one that is open here. One source for every page. */
export const useServerAddress = (): string => useStatus().data?.server_address || siteAddress();

/** An address of the documentation that the gateway carries. @param chapter absent = its first page. */
export const chapterAddress = (chapter?: string): string => {
  const start = `${basePath}/docs/${currentLanguage() === 'zh' ? 'zh' : 'en'}`;
  return chapter === undefined ? start : `${start}/${chapter}`;
};

/** One of its chapters; null where the site has documentation of its own. */
export const chapterOf = (status: Status | undefined, chapter: string): string | null =>
  status?.docs_link ? null : chapterAddress(chapter);

/** Where the menus lead; null = strangers find no documentation but the site's own. */
export const docsFor = (user: User | null, status: Status | undefined, chapter?: string): string | null =>
  status?.docs_link || (user === null ? null : chapterAddress(chapter));
