-- What a search has found, for whoever has the address of its preview, until it expires.
CREATE TABLE shopping_previews (
  token      text COLLATE "C" PRIMARY KEY CHECK (length(token) >= 22),
  website    text NOT NULL,
  query      text NOT NULL,
  products   jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL CHECK (expires_at > created_at)
);

CREATE INDEX shopping_previews_expiry ON shopping_previews (expires_at);
