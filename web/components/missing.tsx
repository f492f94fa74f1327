/** What the address names is not there: says so in the page, and leads to where the others are. */
import { Link } from 'wouter';
import { Empty } from './empty.tsx';
import { PageHead } from './page.tsx';

export interface MissingProps {
  readonly title: string;
  readonly text: string;
  /** Where the others are. */
  readonly href: string;
  readonly all: string;
}

export function Missing({ title, text, href, all }: MissingProps) {
  return (
    <>
      <PageHead title={title} />
      <div className="border-t border-line px-5 py-8">
        <Empty text={text}>
          <Link href={href} className="button button-primary">
            {all}
          </Link>
        </Empty>
      </div>
    </>
  );
}
