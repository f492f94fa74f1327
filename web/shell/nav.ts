/** The places of the menu: the pages that have one, for who may see them. */

import type { User } from '../../server/contract/entities.ts';
import { Role } from '../../server/contract/enum.ts';
import { type Navigation, pageAt, pages } from '../app/pages.tsx';
import type { Status } from '../lib/status.ts';

export interface NavItem extends Navigation {
  readonly to: string;
}

export const navGroups = ['nav.use', 'nav.console', 'nav.admin', 'nav.personal'] as const;

/** The chapter of the documentation about the page at this address. */
export const chapterAt = (path: string): string | undefined => pageAt(path, true)?.docs;

/** The place of the menu that an address belongs to. */
export function placeAt(path: string, items: readonly NavItem[]): NavItem | undefined {
  const within = pageAt(path, true)?.within;
  return items.find(({ to }) => path === to || path.startsWith(`${to}/`)) ?? items.find(({ to }) => to === within);
}

export const navItems = (user: User | null, status: Status | undefined): readonly NavItem[] =>
  user === null
    ? []
    : pages.flatMap(({ path, needs, navigation }) =>
        navigation !== undefined && (needs <= Role.user || user.role >= needs) && (navigation.when?.(status) ?? true)
          ? [{ to: path, ...navigation }]
          : [],
      );
