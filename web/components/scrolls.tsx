/** A place that scrolls: those who have no mouse reach it with the keyboard, and scroll it with the arrows. */
import type { ComponentProps, ElementType } from 'react';

export type ScrollsProps<Tag extends 'section' | 'pre' | 'div' | 'aside'> = ComponentProps<Tag> & {
  readonly as?: Tag;
};

/** @param as the element; a section when absent, which needs a name. */
export function Scrolls<Tag extends 'section' | 'pre' | 'div' | 'aside' = 'section'>({
  as,
  ...props
}: ScrollsProps<Tag>) {
  // Whichever it is, its props are those that were given for it.
  const Place = (as ?? 'section') as ElementType;
  return <Place tabIndex={0} {...props} />;
}
