/** A menu that stands open as soon as it is there: it takes the place of the plain button that was pressed. */
import { MenuButton, MenuItem, MenuItems, Menu as Parts } from '@headlessui/react';
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import type { MenuProps } from './menu-props.ts';

export function OpenMenu({ button, items, anchor, width }: MenuProps) {
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    opener.current?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  }, []);
  return (
    <Parts>
      <MenuButton ref={opener} className={button.className} aria-label={button.label}>
        {button.content}
      </MenuButton>
      <MenuItems anchor={anchor} className={`menu ${width}`}>
        {items.map(({ id, content, lang, danger, href, onPick }) => (
          <MenuItem key={id}>
            {href === undefined ? (
              <button type="button" lang={lang} className={`menu-item ${danger ? 'text-danger' : ''}`} onClick={onPick}>
                {content}
              </button>
            ) : (
              <Link href={href} onClick={onPick} className="menu-item">
                {content}
              </Link>
            )}
          </MenuItem>
        ))}
      </MenuItems>
    </Parts>
  );
}
