-- What the two projections of the shop write. The names are plain: they lie where the connection's search_path says.

create table if not exists sales (
    order_id text primary key,
    buyer text,
    cents bigint not null,
    parcels int not null,
    shipped int not null default 0
);

create table if not exists stock (
    article text primary key,
    level bigint not null
);
